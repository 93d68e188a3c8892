/**
 * Links that the operator blocked: a target, all targets at a host, or the hosted mail of one message. Each api process
 * reads them every few seconds; if PostgreSQL is unavailable, the links read last stay blocked. A target is compared
 * without its fragment, which browsers do not send.
 */
import type { Context } from '#src/context.ts'
import { createCoalescedRefresh } from '#src/concurrency/coalesced-refresh.ts'
import { prepared, type Queryable } from '#src/stores/db.ts'
import { isUuid, newId } from '#src/platform/id.ts'
import { newestFirst, readUncounted, type Page, type PageRequest } from '#src/stores/page.ts'
import { sql } from '#src/stores/sql.ts'
import { messageIdOfToken } from './tokens.ts'

export const BLOCKABLE = ['url', 'host', 'mail'] as const
export type BlockableKind = (typeof BLOCKABLE)[number]

export interface BlockedTarget {
  readonly kind: BlockableKind
  /** A URL without fragment, a host name, or the id of a message. */
  readonly subject: string
}

export interface BlockedLink extends BlockedTarget {
  readonly id: string
  readonly reason: string
  readonly blockedBy: string
}

/** More would make reading them expensive; block a host instead. */
const MAX_BLOCKED = 10_000
const MAX_TEXT = 500
const REFRESH_MS = 5000

const TRACKED_LINK = /^\/c\/[\w-]+\/([\w-]+)$/
const HOSTED_MAIL = /^\/v\/([\w-]+)$/

/**
 * What a text names: a tracked link (its target), a "view in browser" link (its message), any other http URL (a
 * target), or a host name. Null for other text.
 */
export function readBlockable(text: string): BlockedTarget | null {
  const url = parseHttpUrl(text)
  if (url === null) return readHost(text)
  const [, coded] = TRACKED_LINK.exec(url.pathname) ?? []
  const target = coded === undefined ? null : parseHttpUrl(Buffer.from(coded, 'base64url').toString())
  if (target !== null) return { kind: 'url', subject: withoutFragment(target) }
  const [, token] = HOSTED_MAIL.exec(url.pathname) ?? []
  const messageId = token === undefined ? null : messageIdOfToken(token)
  return messageId === null ? { kind: 'url', subject: withoutFragment(url) } : { kind: 'mail', subject: messageId }
}

function readHost(text: string): BlockedTarget | null {
  const url = /^[^\s/?#@:]+$/.test(text) ? parseHttpUrl(`http://${text}`) : null
  return url === null || isUuid(text) ? null : { kind: 'host', subject: url.hostname }
}

function parseHttpUrl(text: string): URL | null {
  const url = URL.parse(text.trim())
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') ? url : null
}

function withoutFragment(url: URL): string {
  return url.href.slice(0, url.href.length - url.hash.length)
}

/** Null if the table is full. An existing entry gets the new reason. */
export async function blockLink(
  db: Queryable,
  { kind, subject, reason, blockedBy }: Omit<BlockedLink, 'id'>,
): Promise<BlockedLink | null> {
  const { rows } = await db.query<BlockedLink>(
    sql`
      INSERT INTO blocked_links (id, kind, subject, reason, blocked_by)
      SELECT $1, $2, $3, $4, $5
      WHERE (SELECT count(*) FROM blocked_links) < ${MAX_BLOCKED}
      ON CONFLICT (kind, subject)
      DO UPDATE SET reason = excluded.reason, blocked_by = excluded.blocked_by
      RETURNING id, kind, subject, reason, blocked_by AS "blockedBy"
    `,
    [newId(), kind, subject, reason.slice(0, MAX_TEXT), blockedBy.slice(0, MAX_TEXT)],
  )
  return rows[0] ?? null
}

/** False if it was not blocked. */
export async function unblockLink(db: Queryable, { kind, subject }: BlockedTarget): Promise<boolean> {
  const { rowCount } = await db.query('DELETE FROM blocked_links WHERE kind = $1 AND subject = $2', [kind, subject])
  return rowCount === 1
}

const COLUMNS = 'id, kind, subject, reason, blocked_by AS "blockedBy"'
const LIST = prepared(
  'blocked-links',
  sql`
    SELECT ${COLUMNS}
    FROM blocked_links
    ORDER BY id DESC
    LIMIT $1
  `,
)

/** The newest first. */
export async function listBlockedLinks(db: Queryable, limit = MAX_BLOCKED): Promise<BlockedLink[]> {
  return (await db.query<BlockedLink>(LIST, [limit])).rows
}

/** The newest first. */
export function readBlockedLinks(db: Queryable, page: Pick<PageRequest, 'limit' | 'at'>): Promise<Page<BlockedLink>> {
  const listing = { columns: COLUMNS, from: 'blocked_links', where: 'true', order: newestFirst(), values: [] }
  return readUncounted(db, listing, page)
}

export interface BlockedLinks {
  hasTarget(url: string): boolean
  hasMail(messageId: string): boolean
  /** Reads them now. Never rejects. */
  refresh(): Promise<void>
  stop(): void
}

/** Empty until the first read, which starts at once. */
export function watchBlockedLinks({ db, log }: Pick<Context, 'db' | 'log'>): BlockedLinks {
  let blocked: ReadonlySet<string> = new Set()
  const reader = createCoalescedRefresh(
    async () => {
      blocked = new Set((await listBlockedLinks(db)).map(({ kind, subject }) => `${kind} ${subject}`))
    },
    (error) => log.debug({ err: error }, 'failed to read the blocked links'),
  )
  void reader.refresh()
  const timer = setInterval(() => void reader.refresh(), REFRESH_MS).unref()
  return {
    hasTarget: (text) => {
      const url = blocked.size === 0 ? null : parseHttpUrl(text)
      if (url === null) return false
      return blocked.has(`url ${withoutFragment(url)}`) || hostsOf(url).some((host) => blocked.has(`host ${host}`))
    },
    hasMail: (messageId) => blocked.has(`mail ${messageId}`),
    refresh: () => reader.refresh(),
    stop: () => clearInterval(timer),
  }
}

/** The host and the domains above it. */
function hostsOf({ hostname }: URL): string[] {
  const labels = hostname.replace(/\.$/, '').split('.')
  return labels.map((_, i) => labels.slice(i).join('.'))
}
