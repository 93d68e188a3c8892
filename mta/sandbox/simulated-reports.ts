/**
 * Sends simulated bounces and complaints from the sandbox to our own inbound port, to the return-path of a captured
 * mail. If no inbound role is running, each report is retried a few times and dropped. A stop or a crash drops pending
 * reports.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#src/context.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'

export interface SimulatedReport {
  readonly type: 'bounce' | 'complaint' | 'opt-out'
  /** Enhanced status code of a bounce (RFC 3463). */
  readonly status: string
  /** The SMTP reply that the bounce quotes. */
  readonly text: string
  readonly recipient: string
  readonly returnPath: string
}

export interface SimulatedReportSender {
  /** Returns immediately and sends in the background. */
  send(report: SimulatedReport): void
  stop(): Promise<void>
}

/** The port of the inbound role if its configured port is not available. */
const FALLBACK_PORT = 2526
const MAX_ATTEMPTS = 5
const RETRY_MS = 1000

export function createSimulatedReportSender({ config, log }: Pick<Context, 'config' | 'log'>): SimulatedReportSender {
  const stopping = new AbortController()
  const pending = new Set<Promise<void>>()

  async function deliver(report: SimulatedReport): Promise<void> {
    // a large module, rarely needed outside sandbox mode
    const { createTransport } = await import('nodemailer')
    for (let i = 0; i < MAX_ATTEMPTS && !stopping.signal.aborted; i++) {
      const port = i % 2 === 0 ? config.inboundPort : FALLBACK_PORT
      const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true, connectionTimeout: 2000 })
      try {
        await transport.sendMail({ envelope: { from: '', to: [report.returnPath] }, raw: mailOf(report) })
        return
      } catch (error) {
        log.debug({ err: error, port }, 'failed to deliver a simulated report')
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
