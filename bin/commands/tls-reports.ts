/** `mailstead tls-reports`: TLS reports of other servers about your own domains (docs/guides/transport-security.md). */
import { runAction } from '#bin/cli/actions.ts'
import { type CliAction, type CommandIo, UsageError } from '#bin/cli/call.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { timeText } from '#src/platform/time-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { listReceivedTlsReports, type ReceivedTlsReport, serializeTlsReport } from '#src/tls-reports/received.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 10_000

const ACTION: CliAction = {
  summary: 'list the TLS reports about your own mail domains',
  examples: ['--failing --limit 20'],
  usage: '[--failing] [--limit N]',
  options: ['limit'],
  flags: ['failing'],
  run: (call) =>
    withContext(call.io, async ({ db }) => {
      const limit = Number(call.option('limit') ?? DEFAULT_LIMIT)
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
        throw new UsageError(`--limit must be a number from 1 to ${MAX_LIMIT}`)
      const { items: reports } = await listReceivedTlsReports(db, { isFailing: call.has('failing'), limit })
      const heads = ['BEGINS', 'ORGANISATION', 'SIGNED BY', 'DOMAIN', 'POLICY', 'GOOD', 'FAILED', 'WHY']
      const text = reports.length === 0 ? 'No TLS reports.' : tableText(heads, reports.flatMap(reportRows))
      return call.respond(text, reports.map(serializeTlsReport))
    }),
}

function reportRows({ beginsAt, organization, signer, policies }: ReceivedTlsReport): string[][] {
  return policies.map(({ domain, type, successes, failures, details }) => [
    timeText(beginsAt),
    organization,
    signer === '' ? 'nobody' : signer,
    domain,
    type,
    String(successes),
    String(failures),
    details
      .map(({ result, count, mxHost }) => `${count} ${result}${mxHost === null ? '' : ` at ${mxHost}`}`)
      .join(', '),
  ])
}

export function run(args: string[], io?: CommandIo): Promise<number> {
  return runAction('tls-reports', ACTION, args, io)
}
