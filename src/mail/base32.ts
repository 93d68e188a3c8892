/** Base32 in lower case without padding (RFC 4648 6), for tokens in local parts: servers may change their case. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

export function toBase32(bytes: Buffer): string {
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(value >>> bits) & 31]
    }
    value &= 31
  }
  return bits > 0 ? text + ALPHABET[(value << (5 - bits)) & 31] : text
}

/** Null when the text has a character outside of the alphabet. */
export function fromBase32(text: string): Buffer | null {
  const bytes: number[] = []
  let bits = 0
  let value = 0
  for (const letter of text) {
    const digit = ALPHABET.indexOf(letter)
    if (digit < 0) return null
    value = (value << 5) | digit
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((value >>> bits) & 255)
    value &= (1 << bits) - 1
  }
  return Buffer.from(bytes)
}
