/**
 * A recipient as a member of a sorted set: `<message hex>:<n>:<workspace>:<domain>`. The domain saves a lookup before
 * routing; the workspace allows fair turns. Its last twelve digits suffice: two workspaces with the same digits share
 * their turns.
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

/** Null for invalid text: the caller drops the entry and continues. */
export function parseMember(text: string): ScheduleMember | null {
  const parts = /^([0-9a-f]{32}):(\d{1,5}):([0-9a-f]{12}):(.+)$/.exec(text)
  if (parts?.[1] === undefined || parts[2] === undefined || parts[3] === undefined || parts[4] === undefined)
    return null
  return { messageId: idOfHex(parts[1]), n: Number(parts[2]), workspaceId: parts[3], domain: parts[4] }
}

/** The workspace of a member, without parsing the rest. */
export function workspaceOfMember(member: string): string {
  const at = member.indexOf(':', member.indexOf(':') + 1) + 1
  return member.slice(at, at + DIGITS)
}
