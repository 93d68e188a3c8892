/**
 * Says of open recipients in a list which suspension holds them: of the operator, of their receiver, or the pause of
 * their campaign. The stored reason of a recipient is that of its last attempt; suspended mail has no attempt.
 */
import type { Queryable } from '#src/stores/db.ts'
import { findSites } from '#src/queue/domain-sites.ts'
import { listSuspensions, type Suspension } from '#src/queue/suspensions.ts'
import { listReceiverSuspensions, type ReceiverSuspension } from '#src/shaping/receiver-suspensions.ts'
import type { Shaping } from '#src/shaping/shaping-file.ts'
import { parsedShaping, shapingFileOf } from '#src/shaping/shaping-file-watch.ts'
import { findSuspensionAt } from '#src/shaping/suspended-site.ts'
import { fromText } from '#src/shaping/throttle-key.ts'
import { accountIdOf } from '#src/providers/account-destination.ts'

interface HeldRecipient {
  readonly workspaceId: string
  readonly campaignId: string | null
  readonly domain: string
  readonly state: string
  readonly reason: string | null
}

export interface HoldDeps {
  readonly db: Queryable
  readonly now: Date
  /** SHAPING_FILE */
  readonly shapingFile: string | null
}

/** The same recipients, with a reason that names what holds them. */
export async function fillHoldReasons<T extends HeldRecipient>(
  { db, now, shapingFile }: HoldDeps,
  open: readonly T[],
): Promise<T[]> {
  const [suspensions, receivers, pauses] = await Promise.all([
    listSuspensions(db),
    listReceiverSuspensions(db, now),
    listPauses(
      db,
      open.flatMap(({ campaignId }) => campaignId ?? []),
    ),
  ])
  if (suspensions.length + receivers.length + pauses.size === 0) return [...open]
  const sites = await findSites(db, [...new Set(open.map(({ domain }) => domain))])
  const shaping = receivers.length === 0 ? null : readShapingFile(shapingFile)
  const byName = new Map(suspensions.map((one) => [`${one.kind} ${one.subject}`, one]))
  return open.map((one) => {
    if (one.state !== 'queued' && one.state !== 'deferred') return one
    const site = sites.get(one.domain) ?? null
    const names = [
      `domain ${one.domain}`,
      `site ${site}`,
      `campaign ${one.campaignId}`,
      `workspace ${one.workspaceId}`,
      'domain *',
    ]
    const suspension = names.map((name) => byName.get(name)).find((found) => found !== undefined)
    const receiver =
      shaping === null ? null : findSuspensionAt(receivers, shaping, { ...one, site, host: null, source: null })
    const held =
      (suspension === undefined ? null : suspensionText(suspension)) ??
      pauses.get(one.campaignId ?? '') ??
      (receiver === null ? null : receiverText(receiver))
    if (held === null) return one
    return { ...one, reason: one.reason === null ? held : `${held}; last: ${one.reason}` }
  })
}

/** Null while the file is missing or invalid: outbound processes then use the rules that they have read. */
export function readShapingFile(shapingFile: string | null): Shaping | null {
  try {
    return parsedShaping(shapingFileOf({ shapingFile }))
  } catch {
    return null
  }
}

/** Campaigns that are paused or cancelled, and why. */
async function listPauses(db: Queryable, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await db.query<{ id: string; status: string; reason: string | null }>(
    `SELECT id, status, reason FROM campaigns WHERE id = ANY ($1::uuid[]) AND status IN ('PAUSED', 'CANCELLED')`,
    [[...new Set(ids)]],
  )
  return new Map(
    rows.map(({ id, status, reason }) => [
      id,
      `its campaign is ${status.toLowerCase()}${reason === null ? '' : ` (${reason})`}`,
    ]),
  )
}

function suspensionText({ kind, subject, reason, until }: Suspension): string {
  const end = until === null ? '' : ` until ${until.toISOString()}`
  // the reason says that the account is paused, and why
  return accountIdOf(subject) === null ? `suspended: ${kind} ${subject} (${reason})${end}` : `${reason}${end}`
}

function receiverText({ pace, source, rule, reply, until }: ReceiverSuspension): string {
  return `suspended: receiver ${pace}${fromText(source)} by rule ${rule} until ${until.toISOString()} (${reply})`
}
