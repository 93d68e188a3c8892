/** One recipient as a member of a sorted set: `<message hex>:<n>:<domain>`; the domain saves a look-up before routing. */
import { hexOf, idOfHex } from '#src/id.ts'

export interface Member {
  readonly messageId: string
  readonly n: number
  readonly domain: string
}

export function memberOf(recipient: Member): string {
  return `${hexOf(recipient.messageId)}:${recipient.n}:${recipient.domain}`
}

/** Null for text that is no member: such an entry is dropped, never a reason to stop. */
export function parseMember(text: string): Member | null {
  const parts = /^([0-9a-f]{32}):(\d{1,5}):(.+)$/.exec(text)
  if (parts?.[1] === undefined || parts[2] === undefined || parts[3] === undefined) return null
  return { messageId: idOfHex(parts[1]), n: Number(parts[2]), domain: parts[3] }
}
