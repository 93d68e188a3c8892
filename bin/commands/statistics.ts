/** `mailstead statistics`: counts of the mail of a workspace by time, and the click map. */
import { type AnswerData, apiAction, given, pageText, type RouteLoader, valueText } from '#bin/cli/api-action.ts'
import { runActions } from '#bin/cli/actions.ts'
import type { CliActions, CommandCall, CommandIo } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'

const routes: RouteLoader = () => import('#api/routes/statistics.ts').then((module) => module.STATISTICS_ROUTES)
const EXAMPLE_CAMPAIGN = '01a20311-697a-7000-82ad-e7d09fbe940c'
const PERIOD_USAGE = '[--from TIME] [--to TIME] [--limit N] [--csv]'
const PERIOD = ['from', 'to', 'limit'] as const

interface CountedRow {
  readonly local?: string
  readonly value: string | null
  readonly counts: Readonly<Record<string, number>>
}

/** The rows, and their sums; counters that are zero everywhere are left out. */
function reportText(data: AnswerData): string {
  const [rows, totals] = [data['rows'], data['totals']] as readonly CountedRow[][]
  if (rows === undefined || totals === undefined || rows.length === 0) return 'No mail was counted in this time.'
  const counters = Object.keys(rows[0]?.counts ?? {}).filter((name) => totals.some(({ counts }) => counts[name]))
  const isGrouped = data['group_by'] !== 'all'
  const cells = ({ local = 'total', value, counts }: CountedRow): string[] => [
    local,
    ...(isGrouped ? [value ?? '(others)'] : []),
    ...counters.map((name) => String(counts[name] ?? 0)),
  ]
  const head = ['START', ...(isGrouped ? ['VALUE'] : []), ...counters.map((name) => name.toUpperCase())]
  const note = data['is_complete'] === true ? '' : '\n\nMail of before the upgrade is still being counted.'
  return tableText(head, [...rows, ...totals].map(cells)) + note
}

function periodOf(call: CommandCall): Record<string, unknown> {
  return given({
    from: call.option('from'),
    to: call.option('to'),
    limit: call.option('limit'),
    format: call.has('csv') ? 'csv' : null,
  })
}

const ACTIONS: CliActions = {
  show: apiAction({
    summary: 'count mail by time, and by one of tier, receiver, domain, source, class, tag, campaign and template',
    usage: `show [--interval I] [--timezone Z] [--by WHAT] [--value V] [--counters A,B] ${PERIOD_USAGE}`,
    examples: ['show', 'show --interval month --by receiver --from 2026-01-01 --timezone Europe/Berlin --csv'],
    options: ['interval', 'timezone', 'by', 'value', 'counters', ...PERIOD],
    flags: ['csv'],
    about: {
      interval: 'minute, hour, day, week or month',
      value: 'only this value, such as a tag or the id of a campaign',
      counters: 'the counters to show, such as sent,bounced_hard; all of them without this option',
      limit: 'the number of values that are listed by themselves',
      csv: 'as a file',
    },
    routes,
    route: 'get-statistics',
    input: (call) => ({
      query: {
        ...periodOf(call),
        ...given({
          interval: call.option('interval'),
          timezone: call.option('timezone'),
          group_by: call.option('by'),
          value: call.option('value'),
          counters: call.option('counters'),
        }),
      },
    }),
    text: reportText,
  }),
  links: apiAction({
    summary: 'count clicks by link, of a campaign, a template or all mail',
    usage: `links [--campaign ID | --template ID] ${PERIOD_USAGE}`,
    examples: ['links', `links --campaign ${EXAMPLE_CAMPAIGN}`],
    options: ['campaign', 'template', ...PERIOD],
    flags: ['csv'],
    about: { limit: 'the number of links that are listed by themselves', csv: 'as a file' },
    routes,
    route: 'get-link-statistics',
    input: (call) => ({
      query: {
        ...periodOf(call),
        ...given({ campaign_id: call.option('campaign'), template_id: call.option('template') }),
      },
    }),
    text: pageText(
      'links',
      [
        ['POSITION', 'position'],
        ['CLICKS', 'clicked'],
        ['RECIPIENTS', 'clicked_unique'],
        ['BY MACHINES', 'clicked_machine'],
        ['LINK', (row) => valueText(row['url'] ?? '(others)')],
      ],
      'No clicks.',
    ),
  }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runActions('statistics', ACTIONS, args, io)
}
