/** The digest for an Idempotency-Key, over the canonical request with sorted keys: all forms of a request are equal. */
import { createHash, type Hash } from 'node:crypto'

/** SHA-256 over the endpoint (such as its tier) and the canonical request. */
export function digestOf(endpoint: string, request: unknown): Buffer {
  const hash = createHash('sha256').update(`${endpoint}\n`)
  update(hash, request)
  return hash.digest()
}

function update(hash: Hash, value: unknown): void {
  if (Buffer.isBuffer(value)) hash.update(`bytes ${value.length}:`).update(value)
  else if (value instanceof Date) hash.update(value.toISOString())
  else if (Array.isArray(value)) updateAll(hash, '[', value.entries())
  else if (typeof value === 'object' && value !== null) updateAll(hash, '{', Object.entries(value).toSorted(byKey))
  else hash.update(JSON.stringify(value) ?? 'undefined')
}

function updateAll(hash: Hash, kind: '[' | '{', entries: Iterable<readonly [string | number, unknown]>): void {
  hash.update(kind)
  for (const [key, value] of entries) {
    hash.update(`${JSON.stringify(key)}:`)
    update(hash, value)
    hash.update(',')
  }
  hash.update('.')
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
