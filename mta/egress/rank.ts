/**
 * Which source of a pool a message goes by: weighted rendezvous hashing. Each source draws a lot from the message's id and its own, and the
 * highest comes first. The order is the same in every process and at every retry; a source that leaves moves only the messages that were
 * its own, and one that comes takes its share from all others evenly. Pure.
 */
import { hash } from 'node:crypto'

export interface Weighted {
  readonly id: string
  readonly weight: number
}

/** 48 bits of a hash, as a number above 0 and below 1. */
function drawOf(messageId: string, sourceId: string): number {
  const digest = hash('sha256', `${messageId}:${sourceId}`, 'buffer')
  return (digest.readUIntBE(0, 6) + 0.5) / 2 ** 48
}

/** All of them, best first. Shares are as the weights (Thaler and Ravishankar's hashing, with logarithmic scores). */
export function rankSources<T extends Weighted>(messageId: string, sources: readonly T[]): readonly T[] {
  if (sources.length < 2) return sources
  return sources.map((source) => ({ source, score: -source.weight / Math.log(drawOf(messageId, source.id)) }))
    .toSorted((a, b) => b.score - a.score || (a.source.id < b.source.id ? -1 : 1))
    .map(({ source }) => source)
}
