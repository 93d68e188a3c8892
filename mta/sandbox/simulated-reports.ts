/**
 * What a real receiver would send back later, from the sandbox to our own inbound port: a bounce or a complaint to the return-path of the
 * mail that was taken. A play: what cannot be brought (no inbound role runs) is tried a few times and forgotten, as at a stop.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#src/context.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'

export interface SimulatedReport {
  readonly type: 'bounce' | 'complaint' | 'opt-out'
  /** RFC 3463, of a bounce. */
  readonly status: string
  /** What a server says with it. */
  readonly text: string
  readonly recipient: string
  readonly returnPath: string
}

export interface SimulatedReportSender {
  /** Does not wait. */
  send(report: SimulatedReport): void
  stop(): Promise<void>
}

/** Where the inbound role is when its own port could not be had. */
const FALLBACK_PORT = 2526
const MAX_ATTEMPTS = 5
const RETRY_MS = 1000

export function createSimulatedReportSender({ config, log }: Pick<Context, 'config' | 'log'>): SimulatedReportSender {
  const stopping = new AbortController()
  const pending = new Set<Promise<void>>()

  async function deliver(report: SimulatedReport): Promise<void> {
    // large, and seldom needed outside of sandbox mode
    const { createTransport } = await import('nodemailer')
    for (let i = 0; i < MAX_ATTEMPTS && !stopping.signal.aborted; i++) {
      const port = i % 2 === 0 ? config.inboundPort : FALLBACK_PORT
      const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true, connectionTimeout: 2000 })
      try {
        await transport.sendMail({ envelope: { from: '', to: [report.returnPath] }, raw: mailOf(report) })
        return
      } catch (error) {
        log.debug({ err: error, port }, 'a simulated report could not be brought')
        await sleep(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
      } finally {
        transport.close()
      }
    }
  }

  return {
    send: (report) => {
      const delivery = deliver(report).finally(() => pending.delete(delivery))
      pending.add(delivery)
    },
    stop: async () => {
      stopping.abort()
      await Promise.all(pending)
    },
  }
}

function mailOf(report: SimulatedReport): string {
  return (report.type === 'bounce' ? bounceOf(report) : complaintOf(report)).replaceAll('\n', '\r\n')
}

/** RFC 3464 */
function bounceOf({ status, text, recipient }: SimulatedReport): string {
  return `From: MAILER-DAEMON@${SANDBOX_MX}
Subject: Undelivered Mail Returned to Sender (simulated)
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="sandbox"

--sandbox
Content-Type: text/plain

<${recipient}>: ${text}

--sandbox
Content-Type: message/delivery-status

Reporting-MTA: dns; ${SANDBOX_MX}

Final-Recipient: rfc822; ${recipient}
Action: failed
Status: ${status}
Diagnostic-Code: smtp; ${text}
--sandbox--
`
}

/** RFC 5965 */
function complaintOf({ type, recipient }: SimulatedReport): string {
  return `From: feedback@${SANDBOX_MX}
Subject: Complaint (simulated)
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="sandbox"

--sandbox
Content-Type: text/plain

The recipient ${type === 'complaint' ? 'says that this is spam' : 'wants no more of this'}.

--sandbox
Content-Type: message/feedback-report

Feedback-Type: ${type === 'complaint' ? 'abuse' : 'opt-out'}
User-Agent: Mailstead-Sandbox/1
Version: 1
Original-Rcpt-To: ${recipient}
--sandbox--
`
}
