/** `mailstead tls-reports`: what others report of TLS with our own mail domains (docs/guides/transport-security.md). */
import { type Action, type Io, runAction, UsageError } from '#bin/cli/actions.ts'
import { tableText } from '#bin/terminal/terminal-text.ts'
import { withContext } from '#bin/cli/context.ts'
import { listReceivedTlsReports, type ReceivedTlsReport, serializeTlsReport } from '#src/tls-reports/received.ts'

const USUAL_LIMIT = 50
const MAX_LIMIT = 10_000

const ACTION: Action = {
  usage: '[--failing] [--limit N]',
  options: ['limit'],
  flags: ['failing'],
  run: (call) =>
    withContext(call.io, async ({ db }) => {
      const limit = Number(call.option('limit') ?? USUAL_LIMIT)
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
        throw new UsageError(`--limit takes a number from 1 to ${MAX_LIMIT}`)
      const reports = await listReceivedTlsReports(db, { isFailing: call.has('failing'), limit })
      const heads = ['BEGINS', 'ORGANISATION', 'SIGNED BY', 'DOMAIN', 'POLICY', 'GOOD', 'FAILED', 'WHY']
      const text = reports.length === 0 ? 'Nobody has reported.' : tableText(heads, reports.flatMap(rowsOf))
      return call.answer(text, reports.map(serializeTlsReport))
    }),
}

function rowsOf({ beginsAt, organization, signer, policies }: ReceivedTlsReport): string[][] {
  return policies.map(({ domain, type, successes, failures, details }) => [
    beginsAt.toISOString(),
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

export function run(args: string[], io?: Io): Promise<number> {
  return runAction('tls-reports', ACTION, args, io)
}
