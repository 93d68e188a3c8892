/**
 * SMTP in, SMTP out: the load generator of the references sends from a relay network to the submission port, and
 * Mailstead delivers to the sink, durable and signed as always. The API does not run.
 */
import type { Bench } from '#bench/harness/bench.ts'
import type { Contender } from '#bench/harness/contender.ts'
import type { Mailstead } from '#bench/harness/mailstead.ts'
import { expectedFromSource, sendBySmtp } from '#bench/harness/smtp-load.ts'
import { sendsGreeting, waitUntil } from '#bench/harness/wait.ts'
import { compareServers, type ServerComparison } from './compare.ts'

/** More messages than a reference gets, so that a queue builds up: opening a connection per message is slow. */
const TIMES_REFERENCE = 4

export function runSmtp(bench: Bench, mailstead: Mailstead): Promise<ServerComparison[]> {
  const { messages, referenceMessages } = bench.sizes
  const theirs = bench.references.map((contender) => ({ contender, messages: referenceMessages }))
  return compareServers(bench, [
    ...theirs,
    { contender: bySmtp(mailstead), messages: Math.min(messages, TIMES_REFERENCE * referenceMessages) },
  ])
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
    send: ({ count }) => sendBySmtp(submissionPort, count),
    stop: () => mailstead.stop('worker', 'mta', 'submission'),
  }
}
