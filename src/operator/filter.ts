/**
 * Parses the queue filter of the operator, the same for the command line and the API. All fields must match; each is
 * validated, and all errors are reported together. A workspace is named by its id, key part or name.
 */
import type { Queryable } from '#src/stores/db.ts'
import type { Detail } from '#src/platform/errors.ts'
import { isUuid, messageIdOf } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import type { QueueFilter } from '#src/messages/queue-view.ts'
import { isOpen, STATES, type State } from '#src/messages/state.ts'
import type { SuspensionTarget } from '#src/queue/suspensions.ts'
import { TIER_NAMES, TIERS } from '#src/queue/tiers.ts'
import { findWorkspace } from '#src/workspaces/workspaces.ts'
import { oneOfText } from '#src/platform/choice-text.ts'

const OPEN_STATES: readonly string[] = Object.keys(STATES).filter((state) => isOpen(state as State))

/** The fields, with the values they accept. */
export const FILTER_FIELDS = {
  domain: 'a recipient domain',
  site: 'a site: all domains with the same MX hosts',
  workspace: 'its id, key part or name',
  campaign: 'its id',
  tier: TIER_NAMES.join(', '),
  state: OPEN_STATES.join(', '),
  message: 'em_…, msg_… or the uuid',
  older_than: 'accepted longer ago than this: 90s, 10m, 2h, 1d',
} as const
export type FilterField = keyof typeof FILTER_FIELDS
export type FilterInput = Readonly<Partial<Record<FilterField, string | undefined>>>

export type ParsedFilter =
  | { readonly ok: true; readonly filter: QueueFilter }
  | { readonly ok: false; readonly details: readonly Detail[] }

type FieldValue = string | { readonly wrong: string }
const invalid = (why: string): FieldValue => ({ wrong: why })

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** For each field, its name in QueueFilter and the parser of its text. */
const PARSERS: Readonly<
  Record<
    FilterField,
    readonly [keyof QueueFilter, (text: string, ctx: FilterContext) => FieldValue | Promise<FieldValue>]
  >
> = {
  domain: ['domain', parseDomain],
  site: ['site', (text) => text.toLowerCase()],
  workspace: ['workspace', (text, { db }) => parseWorkspace(db, text)],
  campaign: ['campaign', (text) => (isUuid(text) ? text.toLowerCase() : invalid('is not a campaign id'))],
  tier: [
    'tier',
    (text) =>
      TIER_NAMES.find((tier) => tier === text || TIERS[tier].queue === text) ?? invalid(oneOfText(TIER_NAMES, text)),
  ],
  state: ['state', (text) => (OPEN_STATES.includes(text) ? text : invalid(oneOfText(OPEN_STATES, text)))],
  message: ['message', (text) => messageIdOf(text) ?? invalid('is not a message id')],
  older_than: ['before', parseAge],
}

interface FilterContext {
  readonly db: Queryable
  readonly nowMs: number
}

export async function parseFilter(input: FilterInput, ctx: FilterContext): Promise<ParsedFilter> {
  const filter: Record<string, string> = {}
  const details: Detail[] = []
  for (const [field, text] of Object.entries(input) as [FilterField, string | undefined][]) {
    if (text === undefined) continue
    const [name, parse] = PARSERS[field]
    const value = await parse(text.trim(), ctx)
    if (typeof value === 'string') filter[name] = value
    else details.push({ path: field, message: value.wrong })
  }
  return details.length === 0 ? { ok: true, filter } : { ok: false, details }
}

export type ParsedSuspendable =
  | { readonly ok: true; readonly stopped: SuspensionTarget }
  | { readonly ok: false; readonly details: readonly Detail[] }

/** Parses what to suspend or resume: exactly one of the kinds; a domain may be `*`. */
export async function parseSuspendable(input: FilterInput, db: Queryable): Promise<ParsedSuspendable> {
  const named = (['domain', 'site', 'workspace', 'campaign'] as const).filter((kind) => input[kind] !== undefined)
  const [kind] = named
  if (kind === undefined || named.length > 1)
    return { ok: false, details: [{ path: '', message: 'give one of domain, site, workspace, campaign' }] }
  const text = input[kind] ?? ''
  if (kind === 'domain' && text.trim() === '*') return { ok: true, stopped: { kind, subject: '*' } }
  const read = await parseFilter({ [kind]: text }, { db, nowMs: 0 })
  if (!read.ok) return read
  return { ok: true, stopped: { kind, subject: read.filter[kind] ?? '' } }
}

function parseDomain(text: string): FieldValue {
  const parsed = parseAddress(`x@${text.replace(/\.$/, '')}`)
  return parsed.ok ? parsed.address.domain : invalid('is not a domain')
}

async function parseWorkspace(db: Queryable, text: string): Promise<FieldValue> {
  if (text === '' || text.length > 255 || text.includes('\0')) return invalid('is not a workspace')
  const found = await findWorkspace(db, text)
  if (found.kind === 'found') return found.workspace.id
  return invalid(
    found.kind === 'none'
      ? 'no such workspace exists'
      : `several workspaces have this name; use one of their ids: ${found.ids.join(', ')}`,
  )
}

function parseAge(text: string, { nowMs }: FilterContext): FieldValue {
  const [, digits, unit] = /^(\d{1,6})([smhd]?)$/.exec(text) ?? []
  if (digits === undefined) return invalid('is not an age such as 90s, 10m, 2h, 1d')
  return new Date(Math.max(0, nowMs - Number(digits) * (SECONDS[unit ?? ''] ?? 1) * 1000)).toISOString()
}
