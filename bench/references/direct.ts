/**
 * The SMTP source sends directly to the sink, without a server. This shows the
 * maximum rate of the two on this machine; servers should stay well below it.
 */
import type { Contender } from '#bench/harness/contender.ts'
import { describeSource, expectedFromSource, sendBySmtp } from '#bench/harness/smtp-load.ts'

export function openDirect(): Contender {
  let port = 0
  return {
    name: 'no server',
    describe: `${describeSource()} directly to the sink`,
    dkimRecords: null,
    start: async (sinkPort) => {
      port = sinkPort
      return {}
    },
    expect: expectedFromSource,
    send: ({ count }, mix) => sendBySmtp(port, count, mix),
    stop: async () => {},
  }
}
