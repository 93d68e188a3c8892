/**
 * SMTP in, SMTP out: the same source that the references get, from a relay network, through the submission port to the sink. Durable and
 * signed as ever; the API does not run.
 */
import type { Bench } from '#bench/harness/bench.ts'
import type { Contender } from '#bench/harness/contender.ts'
import type { Mailstead } from '#bench/harness/mailstead.ts'
import { expectedFromSource, sendBySmtp } from '#bench/harness/smtp-load.ts'
import { sendsGreeting, waitUntil } from '#bench/harness/wait.ts'
import { compareServers, type ServerComparison } from './compare.ts'

/** More than a reference gets, that queues gather as in life; a source that opens a connection for each mail takes its time. */
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
