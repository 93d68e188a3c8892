/**
 * One recipient as a member of a sorted set: `<message hex>:<n>:<workspace>:<domain>`; the domain saves a look-up before routing, the
 * workspace lets all of them have their turn. Its last twelve digits are enough: two workspaces that share them share their turns.
 */
import { hexOf, idOfHex } from '#src/platform/id.ts'

export interface ScheduleMember {
  readonly messageId: string
  readonly n: number
  /** An id, or the last twelve digits of one. */
  readonly workspaceId: string
  readonly domain: string
}

const DIGITS = 12

export function memberOf(recipient: ScheduleMember): string {
  return `${hexOf(recipient.messageId)}:${recipient.n}:${recipient.workspaceId.slice(-DIGITS)}:${recipient.domain}`
}

/** Null for text that is no member: such an entry is dropped, never a reason to stop. */
export function parseMember(text: string): ScheduleMember | null {
  const parts = /^([0-9a-f]{32}):(\d{1,5}):([0-9a-f]{12}):(.+)$/.exec(text)
  if (parts?.[1] === undefined || parts[2] === undefined || parts[3] === undefined || parts[4] === undefined)
    return null
  return { messageId: idOfHex(parts[1]), n: Number(parts[2]), workspaceId: parts[3], domain: parts[4] }
}

/** The workspace in a member, without reading the rest. */
export function workspaceOfMember(member: string): string {
  const at = member.indexOf(':', member.indexOf(':') + 1) + 1
  return member.slice(at, at + DIGITS)
}
