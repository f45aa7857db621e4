// @ts-check
// A long answer is put into the page part by part, so that the page reacts in between.
import { remembered_focus } from './dom.js';

/** So many elements are laid out at once. */
const most_at_once = 250;
const lists = '.strips, .picture, .shares, tbody';

/** Lets the browser draw what is there, and react to the reader. A page in the background draws nothing: it goes on soon. */
export const pause = () => new Promise((resolve) => {
  const timer = setTimeout(resolve, 100);
  requestAnimationFrame(() => setTimeout(() => {
    clearTimeout(timer);
    resolve(undefined);
  }));
});

/** @param {Element} element */
const weight_of = (element) => element.querySelectorAll('*').length + 1;

/** Takes entries that are too many for one part out of the lists of a section. @param {Element} section */
function taken_out(section) {
  let room = most_at_once;
  return [...section.querySelectorAll(lists)].flatMap((list) => {
    const rest = [...list.children].filter((entry) => (room -= weight_of(entry)) < 0);
    for (const entry of rest) entry.remove();
    return rest.map((entry) => ({ list, entry }));
  });
}

/**
 * Puts an answer in the place of the one before. @param {Element} panel @param {Element} answer
 * @param {() => boolean} is_wanted whether no other answer is on its way
 */
export async function show_in_parts(panel, answer, is_wanted) {
  const focus_again = remembered_focus(panel);
  const sections = weight_of(answer) > 2 * most_at_once ? [...answer.children] : [];
  for (const section of sections.slice(1)) section.remove();
  if (sections.length > 0) await pause();
  let room = most_at_once;
  const has_room = async (/** @type {Element} */ element) => {
    if ((room -= weight_of(element)) >= 0) return true;
    focus_again(false);
    await pause();
    room = most_at_once - weight_of(element);
    return is_wanted();
  };
  const rest_of_first = sections.length > 0 ? taken_out(sections[0]) : [];
  panel.replaceChildren(answer);
  for (const [i, section] of sections.entries()) {
    const rest = i === 0 ? rest_of_first : taken_out(section);
    if (i > 0) {
      if (!await has_room(section)) return false;
      answer.append(section);
    }
    for (const { list, entry } of rest) {
      if (!await has_room(entry)) return false;
      list.append(entry);
    }
  }
  focus_again();
  return true;
}
