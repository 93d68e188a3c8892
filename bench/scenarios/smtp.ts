/**
 * SMTP in, SMTP out: the load generator of the references sends from a relay network to the submission port, and
 * Mailstead delivers to the sink, durable and signed as always. The API does not run.
 */
import type { Bench } from '#bench/harness/bench.ts'
import type { Contender } from '#bench/harness/contender.ts'
import type { Mailstead } from '#bench/harness/mailstead.ts'
import { expectedFromSource, sendBySmtp } from '#bench/harness/smtp-load.ts'
import { sendsGreeting, waitUntil } from '#bench/harness/wait.ts'
import { compareServers, rowsOf, type ServerComparison } from './compare.ts'

export function runSmtp(
  bench: Bench,
  mailstead: Mailstead,
  references: readonly Contender[],
): Promise<ServerComparison[]> {
  const { messages, referenceMessages } = bench.sizes
  const mixes = rowsOf(bench.mix)
  const theirs = references.map((contender) => ({ contender, messages: referenceMessages, mixes: [bench.mix] }))
  return compareServers(bench, [...theirs, { contender: bySmtp(mailstead), messages, mixes }])
}

function bySmtp(mailstead: Mailstead): Contender {
  const { describe, dkimRecords, submissionPort } = mailstead
  return {
    name: 'Mailstead',
    describe,
    dkimRecords,
    start: async (sinkPort) => {
      await mailstead.start(['submission', 'mta', 'worker'], { '*': sinkPort })
      await waitUntil('the submission port', () => sendsGreeting(submissionPort))
      return mailstead.groups()
    },
    expect: expectedFromSource,
    send: ({ count }, mix) => sendBySmtp(submissionPort, count, mix),
    stop: () => mailstead.stop('worker', 'mta', 'submission'),
  }
}
