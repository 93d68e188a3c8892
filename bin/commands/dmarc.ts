/** `mailstead dmarc`: what DMARC reports say about sending domains (docs/guides/dmarc-reports.md). */
import { type AnswerData, apiAction, given, pageText, type RouteLoader, valueText } from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import { type CliAction, type CliActions, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { listDmarcDomains } from '#src/dmarc/summary.ts'
import { countText } from '#src/platform/plural.ts'

const routes: RouteLoader = () => import('#api/routes/dmarc-reports.ts').then((module) => module.DMARC_ROUTES)
const DAY_MS = 86_400_000
const MAX_LISTED = 1000

interface Step {
  readonly code: string
  readonly text: string
}

/** The totals, the sources, and the next step. */
function summaryText(data: AnswerData): string {
  const sources = data['sources'] as readonly AnswerData[]
  const totals = data['totals'] as Readonly<Record<string, number>>
  const policy = data['policy'] as { readonly p: string; readonly pct: number } | null
  const head = [
    `${valueText(data['domain'])} from ${valueText(data['from'])} to ${valueText(data['to'])}: ` +
      `${countText(totals['messages'] ?? 0, 'message')}, ${totals['passed']} passed, ${totals['failed']} failed; ` +
      `${countText(Number(data['reports']), 'report')} on ${countText(Number(data['days']), 'day')}` +
      `${policy === null ? '' : `, policy p=${policy.p} pct=${policy.pct}`}.`,
    ...(data['unverified_reports'] === 0
      ? []
      : [`Not verified, and not counted: ${countText(Number(data['unverified_reports']), 'report')}.`]),
    `Next step: ${(data['next_step'] as Step).text}`,
  ]
  if (sources.length === 0) return [...head, `Reports come to ${valueText(data['report_address'])}.`].join('\n')
  const rows = sources.map((source) => [
    valueText(source['address']),
    source['is_ours'] === true ? 'this installation' : valueText(source['organization'] ?? source['name'] ?? ''),
    ...['messages', 'passed', 'dkim_aligned', 'spf_aligned'].map((name) => valueText(source[name])),
    (source['next_step'] as Step).text,
  ])
  return `${head.join('\n')}\n\n${tableText(['SOURCE', 'WHO', 'MESSAGES', 'PASSED', 'DKIM', 'SPF', 'NEXT STEP'], rows)}`
}

const OVERVIEW: CliAction = {
  summary: 'show the totals of the last days by domain, of all workspaces',
  usage: 'overview [--days N]',
  examples: ['overview', 'overview --days 7'],
  options: ['days'],
  run: (call) =>
    withContext(call.io, async ({ db, clock }) => {
      const days = Number(call.option('days') ?? 30)
      if (!Number.isInteger(days) || days < 1 || days > 90) throw new UsageError('--days must be a number from 1 to 90')
      const [from, to] = [days - 1, 0].map((n) => new Date(clock.now() - n * DAY_MS).toISOString().slice(0, 10))
      const found = await listDmarcDomains(db, { from: from ?? '', to: to ?? '' }, MAX_LISTED)
      const rows = found.map((one) => [
        one.domain,
        one.workspaceId,
        ...[one.sources, one.messages, one.passed, one.messages - one.passed].map(String),
      ])
      const text = tableText(['DOMAIN', 'WORKSPACE', 'SOURCES', 'MESSAGES', 'PASSED', 'FAILED'], rows)
      return call.respond(rows.length === 0 ? 'No DMARC reports.' : text, found)
    }),
}

const ACTIONS: CliActions = {
  show: apiAction({
    summary: 'show who sends with a domain, what passes DMARC, and the next step for each source',
    usage: 'show D [--from DAY] [--to DAY] [--limit N]',
    examples: ['show example.com', 'show example.com --from 2026-01-01 --to 2026-01-31'],
    options: ['from', 'to', 'limit'],
    arguments: [1, 1],
    about: { limit: 'the number of sources that are listed' },
    routes,
    route: 'get-dmarc-summary',
    input: (call) => ({
      params: { domainID: call.argument(0) },
      query: given({ from: call.option('from'), to: call.option('to'), limit: call.option('limit') }),
    }),
    text: summaryText,
  }),
  reports: apiAction({
    summary: 'list the reports about a domain, also those that are not counted',
    usage: 'reports D [--limit N] [--cursor C]',
    examples: ['reports example.com'],
    options: ['limit', 'cursor'],
    arguments: [1, 1],
    routes,
    route: 'list-dmarc-reports',
    input: (call) => ({
      params: { domainID: call.argument(0) },
      query: given({ limit: call.option('limit'), cursor: call.option('cursor') }),
    }),
    text: pageText(
      'reports',
      [
        ['BEGINS', 'begins_at'],
        ['ORGANISATION', 'organization'],
        ['PROVEN BY', (row) => valueText(row['signer'] ?? 'nothing, not counted')],
        ['MESSAGES', 'messages'],
        ['PASSED', 'passed'],
        ['FAILED', 'failed'],
      ],
      'No DMARC reports.',
    ),
  }),
  overview: OVERVIEW,
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('dmarc', ACTIONS, args, io)
}
