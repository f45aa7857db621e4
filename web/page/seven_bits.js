// @ts-check
// Bytes as text of UTF-8 within a script element: seven bits a letter, which is an eighth less than base64.

/** What a parser of HTML would change or end at: NUL, carriage return, "<". */
const unfit = [0, 13, 60];
/** Such a letter and the one behind it are one letter of two bytes, from here on. */
const first_pair = 0x100;

/** @param {Uint8Array} bytes @returns {string} their number, a space, and the bytes */
export function text_of_bytes(bytes) {
  const letters = new Uint8Array(Math.ceil((bytes.length * 8) / 7) + 1);
  let [bits, count, size] = [0, 0, 0];
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0x7fff;
    count += 8;
    for (; count >= 7; count -= 7) letters[size++] = (bits >> (count - 7)) & 127;
  }
  if (count > 0) letters[size++] = (bits << (7 - count)) & 127;
  const text = [`${bytes.length} `];
  for (let i = 0; i < size; ++i) {
    const pair = unfit.indexOf(letters[i]);
    text.push(String.fromCharCode(pair < 0 ? letters[i] : first_pair + 128 * pair + letters[++i]));
  }
  return text.join('');
}

/** @param {string} text what text_of_bytes() made @returns {Uint8Array} */
export function bytes_of_text(text) {
  const begin = text.indexOf(' ') + 1;
  const bytes = new Uint8Array(Number(text.slice(0, begin)));
  let [bits, count, size] = [0, 0, 0];
  const add = (/** @type {number} */ letter) => {
    bits = ((bits << 7) | letter) & 0x7fff;
    count += 7;
    if (count < 8) return;
    count -= 8;
    if (size < bytes.length) bytes[size++] = (bits >> count) & 255;
  };
  for (let i = begin; i < text.length; ++i) {
    const letter = text.charCodeAt(i);
    if (letter >= 128) add(unfit[(letter - first_pair) >> 7]);
    add(letter & 127);
  }
  return bytes;
}
