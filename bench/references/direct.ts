/**
 * No server at all: the SMTP source straight to the sink. Shows how much the
 * two can do on this machine, so that neither of them is what is measured.
 */
import type { Contender } from '#bench/harness/contender.ts'
import { describeSource, expectedFromSource, sendBySmtp } from '#bench/harness/smtp-load.ts'

export function openDirect(): Contender {
  let port = 0
  return {
    name: 'no server',
    describe: `${describeSource()} straight to the sink`,
    dkimRecords: null,
    start: async (sinkPort) => {
      port = sinkPort
      return {}
    },
    expect: expectedFromSource,
    send: ({ count }) => sendBySmtp(port, count),
    stop: async () => {},
  }
}
