/**
 * Ranks the sources of a pool for a message by weighted rendezvous hashing: each source gets a score from the
 * message's id and its own, and the highest comes first. The ranking is the same in every process and at every retry.
 * A source that leaves moves only its own messages; a source that is added gets its share evenly from all others.
 * Pure.
 */
export interface WeightedSource {
  /** A UUID. */
  readonly id: string
  readonly weight: number
}

/**
 * All sources, best first. `messageId` is a UUID. Each source is first with a probability proportional to its weight.
 */
export function rankSources<T extends WeightedSource>(messageId: string, sources: readonly T[]): readonly T[] {
  if (sources.length < 2) return sources
  const message = wordsOf(messageId)
  return sources
    .map((source) => ({ source, score: -source.weight / Math.log(uniformHash(message, wordsOf(source.id))) }))
    .toSorted((a, b) => b.score - a.score || (a.source.id < b.source.id ? -1 : 1))
    .map(({ source }) => source)
}

type Words = readonly number[]

function wordsOf(uuid: string): Words {
  const hex = uuid.replaceAll('-', '')
  return [0, 8, 16, 24].map((at) => Number.parseInt(hex.slice(at, at + 8), 16) | 0)
}

/**
 * A number between 0 and 1, both excluded, of 53 bits, from two MurmurHash3 of both ids. The operator makes the
 * sources and we make the ids, so nobody gains by a collision, and a cryptographic hash takes ten times as long.
 */
function uniformHash(message: Words, source: Words): number {
  const [high, low] = [murmur(message, source, 0x9747b28c), murmur(message, source, 0x3c6ef372)]
  return ((high >>> 5) * 2 ** 26 + (low >>> 6) + 0.5) / 2 ** 53
}

function murmur(one: Words, other: Words, seed: number): number {
  let hash = seed
  for (const word of one) hash = mix(hash, word)
  for (const word of other) hash = mix(hash, word)
  hash ^= 32 // octets
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

function mix(hash: number, word: number): number {
  const scrambled = Math.imul(rotateLeft(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593)
  return (Math.imul(rotateLeft(hash ^ scrambled, 13), 5) + 0xe6546b64) | 0
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}
