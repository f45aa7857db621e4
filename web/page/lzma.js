// @ts-check
// Unpacks what `xz --format=lzma` packs, which is a tenth less than zstd. Ours, as the package of npm has the packer with it: 40 kB.
// Source: the LZMA specification, Igor Pavlov, 2015; names of states and distances are its own.

const properties_bytes = 13; // how contexts are made, the size of the dictionary, the size unpacked
const even_chance = 1024; // of 2048

const chances_of = (/** @type {number} */ count) => new Uint16Array(count).fill(even_chance);

/** Binary decisions in a range of numbers; each has a chance that learns. @param {Uint8Array} bytes @param {number} begin */
function range_decoder(bytes, begin) {
  let place = begin + 5;
  // The range, and the code within it. As variables, numbers of 32 bits would be allocated anew with every change.
  const now = new Uint32Array([0xffffffff, (bytes[begin + 1] << 24) | (bytes[begin + 2] << 16) | (bytes[begin + 3] << 8) | bytes[begin + 4]]);

  function widen() {
    now[0] <<= 8;
    now[1] = (now[1] << 8) | bytes[place++];
  }

  /** @param {Uint16Array} chances @param {number} i @returns {number} 0 or 1 */
  function bit(chances, i) {
    const chance = chances[i];
    const bound = (now[0] >>> 11) * chance;
    const is_zero = now[1] < bound;
    if (is_zero) {
      now[0] = bound;
      chances[i] = chance + ((2048 - chance) >> 5);
    } else {
      now[0] -= bound;
      now[1] -= bound;
      chances[i] = chance - (chance >> 5);
    }
    if (now[0] < 1 << 24) widen();
    return is_zero ? 0 : 1;
  }

  /** Bits of even chance. @param {number} count */
  function even_bits(count) {
    let result = 0;
    for (; count > 0; --count) {
      now[0] >>>= 1;
      const is_one = now[1] >= now[0];
      if (is_one) now[1] -= now[0];
      result = result * 2 + (is_one ? 1 : 0);
      if (now[0] < 1 << 24) widen();
    }
    return result;
  }

  /** A number, its highest bit first. @param {Uint16Array} chances @param {number} from @param {number} bits */
  function number(chances, from, bits) {
    let symbol = 1;
    while (symbol < 1 << bits) symbol = (symbol << 1) | bit(chances, from + symbol);
    return symbol - (1 << bits);
  }

  /** A number, its lowest bit first. @param {Uint16Array} chances @param {number} from @param {number} bits */
  function reversed_number(chances, from, bits) {
    let [symbol, result] = [1, 0];
    for (let i = 0; i < bits; ++i) {
      const one = bit(chances, from + symbol);
      symbol = (symbol << 1) | one;
      result |= one << i;
    }
    return result;
  }
  return { bit, even_bits, number, reversed_number };
}

/** @typedef {ReturnType<typeof range_decoder>} Decoder */

/** Lengths of copies, 2 to 273. @param {Decoder} decoder @param {number} positions */
function length_decoder(decoder, positions) {
  const [choice, low, middle, high] = [2, positions << 3, positions << 3, 256].map(chances_of);
  return (/** @type {number} */ position) => {
    if (decoder.bit(choice, 0) === 0) return 2 + decoder.number(low, position << 3, 3);
    if (decoder.bit(choice, 1) === 0) return 10 + decoder.number(middle, position << 3, 3);
    return 18 + decoder.number(high, 0, 8);
  };
}

/** How far back copies begin, less one. @param {Decoder} decoder */
function distance_decoder(decoder) {
  const [slots, distances, align] = [4 << 6, 128, 16].map(chances_of);
  return (/** @type {number} */ length) => {
    const slot = decoder.number(slots, Math.min(length - 2, 3) << 6, 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const begin = (2 | (slot & 1)) << bits;
    if (slot < 14) return begin + decoder.reversed_number(distances, begin - slot, bits);
    return begin + decoder.even_bits(bits - 4) * 16 + decoder.reversed_number(align, 0, 4);
  };
}

/** Single bytes. @param {Decoder} decoder @param {Uint8Array} result @param {number} context_bits @param {number} position_bits */
function literal_decoder({ bit }, result, context_bits, position_bits) {
  const chances = chances_of(0x300 << (context_bits + position_bits));
  /** @param {number} size how much is there @param {number} back where another byte would be if the last copy went on; 0: after a literal */
  return (size, back) => {
    const previous = size > 0 ? result[size - 1] : 0;
    const base = 0x300 * (((size & ((1 << position_bits) - 1)) << context_bits) + (previous >> (8 - context_bits)));
    let symbol = 1;
    if (back > 0) { // most likely another one than that
      let other = result[size - back];
      for (let is_alike = true; is_alike && symbol < 0x100; other <<= 1) {
        const bit_there = (other >> 7) & 1;
        const one = bit(chances, base + ((1 + bit_there) << 8) + symbol);
        symbol = (symbol << 1) | one;
        is_alike = bit_there === one;
      }
    }
    while (symbol < 0x100) symbol = (symbol << 1) | bit(chances, base + symbol);
    return symbol;
  };
}

/** @param {Uint8Array} bytes whose header says the size @returns {Uint8Array} at most 2 GB */
export function unpacked(bytes) {
  const position_bits = Math.floor(bytes[0] / 45);
  const result = new Uint8Array(new DataView(bytes.buffer, bytes.byteOffset).getUint32(5, true));
  const decoder = range_decoder(bytes, properties_bytes);
  const literal = literal_decoder(decoder, result, bytes[0] % 9, Math.floor(bytes[0] / 9) % 5);
  const distance_of = distance_decoder(decoder);
  const length_of_new = length_decoder(decoder, 1 << position_bits);
  const length_of_repeated = length_decoder(decoder, 1 << position_bits);
  const { bit } = decoder;
  const [is_copy, is_longer] = [12 << 4, 12 << 4].map(chances_of);
  const [is_repeated, is_not_rep0, is_not_rep1, is_not_rep2] = [12, 12, 12, 12].map(chances_of);
  let [size, state, rep0, rep1, rep2, rep3] = [0, 0, 0, 0, 0, 0];

  /** One of the three distances before the last one comes to the front. */
  function repeat_earlier() {
    if (bit(is_not_rep1, state) === 0) {
      [rep0, rep1] = [rep1, rep0];
    } else if (bit(is_not_rep2, state) === 0) {
      [rep0, rep1, rep2] = [rep2, rep0, rep1];
    } else {
      [rep0, rep1, rep2, rep3] = [rep3, rep0, rep1, rep2];
    }
  }

  while (size < result.length) {
    const position = size & ((1 << position_bits) - 1);
    if (bit(is_copy, (state << 4) + position) === 0) {
      result[size] = literal(size, state < 7 ? 0 : rep0 + 1);
      ++size;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let length = 1;
    if (bit(is_repeated, state) === 0) {
      length = length_of_new(position);
      [rep0, rep1, rep2, rep3] = [distance_of(length), rep0, rep1, rep2];
      state = state < 7 ? 7 : 10;
    } else {
      const is_last = bit(is_not_rep0, state) === 0;
      if (!is_last) repeat_earlier();
      if (is_last && bit(is_longer, (state << 4) + position) === 0) {
        state = state < 7 ? 9 : 11;
      } else {
        length = length_of_repeated(position);
        state = state < 7 ? 8 : 11;
      }
    }
    for (const end = Math.min(size + length, result.length); size < end; ++size) result[size] = result[size - rep0 - 1];
  }
  return result;
}
