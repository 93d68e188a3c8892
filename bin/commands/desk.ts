/** `mailstead desk`: the next actions with their evidence, receivers and sources; of all mail, or one workspace. */
import { runAction } from '#bin/cli/actions.ts'
import type { CliAction, CommandIo } from '#bin/cli/call.ts'
import { withContext } from '#bin/cli/context.ts'
import { requireWorkspace } from '#bin/cli/find-workspace.ts'
import { lineText, tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { nextActions, type NextAction } from '#src/deliverability/action-rules.ts'
import { numberText } from '#src/deliverability/evidence-text.ts'
import type { Desk, ReceiverDesk, SenderDesk, SourceDesk } from '#src/deliverability/facts.ts'
import { readDesk } from '#src/deliverability/read-desk.ts'

const MAX_ROWS = 15

const SHOW: CliAction = {
  summary: 'show the next actions, and what happens to mail at each receiver',
  usage: '[--workspace ID]',
  examples: ['', '--workspace acme', '--json'],
  options: ['workspace'],
  about: { workspace: 'only the mail of this workspace; without it all mail' },
  run: (call) =>
    withContext(call.io, async (ctx) => {
      const name = call.option('workspace')
      const workspace = name === null ? null : await requireWorkspace(ctx.db, name)
      const desk = await readDesk(ctx, workspace?.id ?? null)
      const actions = nextActions(desk)
      return call.respond(deskText(desk, actions), { actions: actions.map(plainAction), ...desk })
    }),
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('desk', SHOW, args, io)
}

function deskText({ receivers, sources, senders, isOfWorkspace }: Desk, actions: readonly NextAction[]): string {
  const parts = [
    actions.length === 0 ? 'Nothing to do.' : actions.map(actionText).join('\n\n'),
    receivers.length === 0 ? 'No mail in the last 7 days.' : receiversText(receivers),
    reasonsText(receivers),
    sources.length === 0 ? '' : sourcesText(sources),
    senders.length === 0 ? '' : sendersText(senders, isOfWorkspace ? 'DOMAIN' : 'WORKSPACE'),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** For JSON: sentences without their codes. */
function plainAction({ title, todo, evidence, ...rest }: NextAction): object {
  return { ...rest, title: title.text, todo: todo.text, evidence: evidence.map(({ text }) => text) }
}

function actionText({ title, todo, evidence, reply, since, guide }: NextAction, index: number): string {
  const [page = '', section] = guide.split('#')
  const lines = [
    ...evidence.map(({ text }) => text),
    ...(reply === null ? [] : [`reply: ${reply}`]),
    ...(since === null ? [] : [`since ${timeText(since)}`]),
    `→ ${todo.text}`,
    `  docs/guides/${page}.md${section === undefined ? '' : `#${section}`}`,
  ]
  return [`${index + 1}. ${lineText(title.text)}`, ...lines.map((line) => `   ${lineText(line)}`)].join('\n')
}

function receiversText(receivers: readonly ReceiverDesk[]): string {
  const heads = ['RECEIVER', 'SENT 24H', 'DELIVERED', 'DEFERRED', 'BOUNCED', 'TLS', 'COMPLAINTS 7D', 'STATE']
  return tableText(
    heads,
    receivers
      .slice(0, MAX_ROWS)
      .map(({ title, day, week, encrypted, throttles }) => [
        title,
        numberText(day.sent),
        percent(day.delivered, day.sent),
        numberText(day.deferred),
        percent(day.bounced_hard + day.bounced_soft, day.sent),
        percent(encrypted, day.sent),
        percent(week.complained, week.delivered, 2),
        throttles[0]?.state ?? 'open',
      ]),
  )
}

function percent(part: number, whole: number, digits = 1): string {
  return whole === 0 ? '-' : `${((part / whole) * 100).toFixed(digits)} %`
}

/** The most frequent reason at each receiver. */
function reasonsText(receivers: readonly ReceiverDesk[]): string {
  const rows = receivers.slice(0, MAX_ROWS).flatMap(({ title, reasons: [first] }) => {
    if (first === undefined) return []
    return [[title, first.class, numberText(first.deferred + first.bounced), first.reply ?? '']]
  })
  return rows.length === 0 ? '' : tableText(['RECEIVER', 'REASON', 'COUNT', 'LAST REPLY'], rows)
}

function sourcesText(sources: readonly SourceDesk[]): string {
  const rows = sources.slice(0, MAX_ROWS).map(({ name, address, state, day, problems }) => {
    return [name, address, state, numberText(day.sent), problems.map(({ detail }) => detail).join('; ')]
  })
  return tableText(['SOURCE', 'ADDRESS', 'STATE', 'SENT 24H', 'PROBLEMS'], rows)
}

function sendersText(senders: readonly SenderDesk[], head: string): string {
  const rows = senders
    .slice(0, MAX_ROWS)
    .map(({ name, week }) => [
      name,
      numberText(week.sent),
      percent(week.bounced_hard, week.sent),
      percent(week.complained, week.delivered, 2),
    ])
  return tableText([head, 'SENT 7D', 'HARD BOUNCES', 'COMPLAINTS'], rows)
}
