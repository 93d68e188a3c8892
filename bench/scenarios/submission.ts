/**
 * What it costs to accept mail by SMTP, without delivery: one message or many a connection, without TLS and with
 * STARTTLS, from a relay network and with AUTH. Only the submission role and the stores run while it is measured, so
 * the messages stay queued. Then all of them are sent: one that does not arrive exactly once is a violation.
 */
import type { MailsteadBench } from '#bench/harness/bench.ts'
import { cpuPerMessage, countViolations, waitForArrivals, watchOtherProcesses } from '#bench/harness/contender.ts'
import { readUsage } from '#bench/harness/cpu.ts'
import { SENDER } from '#bench/harness/dkim.ts'
import { type Remote, startRemote } from '#bench/harness/remote.ts'
import { measureSignature } from '#bench/harness/signature.ts'
import { SESSIONS, SITE } from '#bench/harness/smtp-load.ts'
import type { SourceOptions } from '#bench/harness/source.ts'
import { sendsGreeting, waitUntil } from '#bench/harness/wait.ts'
import { finishedMails } from '#bench/mails/mail-mix.ts'

export interface SubmissionRun {
  /** Messages a second, from the first connect to the end of the last connection. */
  readonly rate: number
  /** CPU milliseconds a message: `submission`, the stores and the load. */
  readonly cpuMs: Readonly<Record<string, number>>
  /** CPU milliseconds of one RSA-2048 signature, just before and after the measurement. */
  readonly signatureMs: number
  readonly otherCpuShare: number
}

/** One way of sending, in the order of the repeats. */
export interface SubmissionRow {
  readonly name: string
  readonly runs: readonly SubmissionRun[]
}

export interface SubmissionResult {
  readonly rows: readonly SubmissionRow[]
  readonly violations: readonly string[]
}

type Way = Required<Pick<SourceOptions, 'messagesPerConnection' | 'tls'>> & { readonly hasAuth: boolean }

const MANY = 100
const WAYS: readonly Way[] = [1, MANY].flatMap((messagesPerConnection) =>
  [false, true].flatMap((tls) => [false, true].map((hasAuth) => ({ messagesPerConnection, tls, hasAuth }))),
)

/** CPU of the submission process for one message, in RSA-2048 signatures of the same run. */
export function signaturesOf({ cpuMs, signatureMs }: SubmissionRun): number {
  return (cpuMs['submission'] ?? 0) / signatureMs
}

export async function runSubmission(bench: MailsteadBench): Promise<SubmissionResult> {
  const { mailstead, receiver } = bench
  const source = await startRemote('source')
  const routes = { '*': receiver.port }
  const from = mailstead.reserve(0)
  try {
    await mailstead.start(['submission'], routes)
    await waitUntil('the submission port', () => sendsGreeting(mailstead.submissionPort))
    const rows = await measureAll(bench, source)
    await mailstead.stop('submission')
    const expected = { from, count: mailstead.reserve(0) - from, hasNumberedBody: false }
    await receiver.sink.begin(expected)
    await mailstead.start(['mta', 'worker'], routes)
    await waitForArrivals(receiver.sink, expected.count)
    const violations = countViolations(expected, await receiver.sink.finish())
    return { rows, violations: violations.map((violation) => `submission: ${violation}`) }
  } finally {
    await mailstead.stop('worker', 'mta', 'submission')
    await source.end()
  }
}

async function measureAll(bench: MailsteadBench, source: Remote<'source'>): Promise<SubmissionRow[]> {
  const { submissions, submissionWarmUp, repeats } = bench.sizes
  const rows = WAYS.map((way) => ({ way, name: nameOf(way), runs: [] as SubmissionRun[] }))
  const send = await createSender(bench, source)
  for (const { way } of rows) await send(way, submissionWarmUp)
  for (let repeat = 1; repeat <= repeats; repeat++) {
    for (const { way, name, runs } of rows) {
      const run = await measure(bench, source.pid, submissions, () => send(way, submissions))
      runs.push(run)
      const [rate, cpuMs] = [run.rate.toFixed(0), (run.cpuMs['submission'] ?? 0).toFixed(2)]
      bench.say(`  ${repeat} of ${repeats}, ${name}: ${rate} a second, ${cpuMs} ms CPU of submission a message`)
    }
  }
  return rows.map(({ name, runs }) => ({ name, runs }))
}

function nameOf({ messagesPerConnection, tls, hasAuth }: Way): string {
  const amount = messagesPerConnection === 1 ? 'one' : String(messagesPerConnection)
  return [`${amount} a connection`, ...(tls ? ['STARTTLS'] : []), ...(hasAuth ? ['AUTH'] : [])].join(', ')
}

type Send = (way: Way, count: number) => ReturnType<Remote<'source'>['send']>

/** Sends the HTML mail of 4 KB with new numbers in 30 sessions. */
async function createSender({ mailstead }: MailsteadBench, source: Remote<'source'>): Promise<Send> {
  const [html] = await finishedMails('html', SENDER, `r@${SITE}`)
  const auth = Buffer.from(`\0api\0${mailstead.key}`).toString('base64')
  return ({ hasAuth, ...way }, count) =>
    source.send({
      ...way,
      ...(hasAuth && { auth }),
      port: mailstead.submissionPort,
      batches: [
        {
          mail: html?.mail ?? Buffer.alloc(0),
          from: mailstead.reserve(count),
          count,
          sessions: Math.min(SESSIONS, count),
        },
      ],
      sender: SENDER,
      site: SITE,
    })
}

async function measure(
  { mailstead }: MailsteadBench,
  sourcePid: number,
  count: number,
  send: () => ReturnType<Send>,
): Promise<SubmissionRun> {
  const signatureBefore = measureSignature()
  const groups = { ...mailstead.groups(), load: sourcePid }
  const before = readUsage(groups)
  const otherShare = watchOtherProcesses(groups)
  const { startedAt, endedAt } = await send()
  const cpuMs = cpuPerMessage(before, readUsage(groups), count)
  const otherCpuShare = otherShare(0)
  return {
    rate: (count * 1000) / (endedAt - startedAt),
    cpuMs,
    signatureMs: (signatureBefore + measureSignature()) / 2,
    otherCpuShare,
  }
}
