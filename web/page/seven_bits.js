// @ts-check
// Bytes as text of UTF-8 within a script element: seven bits a letter, which is an eighth less than base64.

/** What a parser of HTML would change or end at: NUL, carriage return, "<". */
const unfit = [0, 13, 60];
const first_instead = 0xc0;

/** @param {Uint8Array} bytes @returns {string} */
export function text_of_bytes(bytes) {
  const letters = new Uint16Array(Math.ceil((bytes.length * 8) / 7));
  let [bits, count, size] = [0, 0, 0];
  const put = (/** @type {number} */ value) => { letters[size++] = unfit.includes(value) ? first_instead + unfit.indexOf(value) : value; };
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0x7fff;
    count += 8;
    for (; count >= 7; count -= 7) put((bits >> (count - 7)) & 127);
  }
  if (count > 0) put((bits << (7 - count)) & 127);
  const text = [];
  for (let i = 0; i < size; i += 8192) text.push(String.fromCharCode(...letters.subarray(i, Math.min(i + 8192, size))));
  return text.join('');
}

/** @param {string} text what text_of_bytes() made @returns {Uint8Array} */
export function bytes_of_text(text) {
  const bytes = new Uint8Array(Math.floor((text.length * 7) / 8));
  let [bits, count, size] = [0, 0, 0];
  for (let i = 0; i < text.length; ++i) {
    const letter = text.charCodeAt(i);
    bits = ((bits << 7) | (letter < 128 ? letter : unfit[letter - first_instead])) & 0x7fff;
    count += 7;
    if (count >= 8) bytes[size++] = (bits >> (count -= 8)) & 255;
  }
  return bytes;
}
