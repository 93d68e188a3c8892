/**
 * Identities: UUIDv7 (RFC 9562 5.7), so that ids sort by time and an id alone names its partition.
 * One message has one uuid; its hex is the suffix shared by msg_…, em_… and scheduled_msg_… .
 */
import { randomFillSync } from 'node:crypto'

const pool = Buffer.alloc(4096)
let used = pool.length
let lastMs = 0
let counter = 0

/** 8 random bytes out of a pool: one call to the random source for 512 ids. */
function randomAt(): number {
  if (used + 8 > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += 8
  return used - 8
}

/** A clock that steps back further than this is believed: ids of the wrong time would miss their partition. */
const MOST_BEHIND_MS = 2000

/** A new UUIDv7, ascending within this process while its clock is (12-bit counter in rand_a, RFC 9562 6.2 method 1). */
export function newId(nowMs: number = Date.now()): string {
  if (nowMs > lastMs || nowMs < lastMs - MOST_BEHIND_MS) {
    lastMs = nowMs
    counter = 0
  } else if (++counter > 0xfff) {
    lastMs++
    counter = 0
  }
  const at = randomAt()
  const time = lastMs.toString(16).padStart(12, '0')
  const variant = (((pool[at] ?? 0) & 0x3f) | 0x80).toString(16)
  const tail = pool.toString('hex', at + 1, at + 8)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, '0')}-${variant}${tail.slice(0, 2)}-${tail.slice(2)}`
}

/** The smallest UUIDv7 of a moment: a bound for partitions and for scans by time. */
export function idAt(ms: number): string {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`
}

/** Milliseconds since the epoch inside a UUIDv7. */
export function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

export function hexOf(id: string): string {
  return id.replaceAll('-', '')
}

/** The uuid of 32 hex digits. */
export function idOfHex(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function isUuid(text: string): boolean {
  return UUID.test(text)
}

/** `msg_<ms>_<suffix>`, `em_<suffix>`, `scheduled_msg_<ms>_<suffix>` or the uuid itself; null when it is none of them. */
export function messageIdOf(text: string): string | null {
  if (isUuid(text)) return text.toLowerCase()
  const suffix = /^(?:(?:scheduled_)?msg_\d{1,15}_|em_)([0-9a-f]{32})$/i.exec(text)?.[1]
  return suffix === undefined ? null : idOfHex(suffix.toLowerCase())
}
