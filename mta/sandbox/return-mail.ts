/**
 * What a real receiver would send back later, from the sandbox to our own inbound port: a bounce or a complaint to the return-path of the
 * mail that was taken. A play: what cannot be brought (no inbound role runs) is tried a few times and forgotten, as at a stop.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '#src/context.ts'
import { SANDBOX_MX } from '#src/sandbox/sandbox-host.ts'

export interface Returned {
  readonly what: 'bounce' | 'complaint' | 'opt-out'
  /** RFC 3463, of a bounce. */
  readonly status: string
  /** What a server says with it. */
  readonly text: string
  readonly recipient: string
  readonly returnPath: string
}

export interface ReturnMail {
  /** Does not wait. */
  send(returned: Returned): void
  stop(): Promise<void>
}

/** Where the inbound role is when its own port could not be had. */
const FALLBACK_PORT = 2526
const TRIES = 5
const PAUSE_MS = 1000

export function createReturnMail({ config, log }: Pick<Context, 'config' | 'log'>): ReturnMail {
  const stopping = new AbortController()
  const under = new Set<Promise<void>>()

  async function bring(returned: Returned): Promise<void> {
    // large, and seldom needed outside of sandbox mode
    const { createTransport } = await import('nodemailer')
    for (let i = 0; i < TRIES && !stopping.signal.aborted; i++) {
      const port = i % 2 === 0 ? config.inboundPort : FALLBACK_PORT
      const transport = createTransport({ host: '127.0.0.1', port, ignoreTLS: true, connectionTimeout: 2000 })
      try {
        await transport.sendMail({ envelope: { from: '', to: [returned.returnPath] }, raw: mailOf(returned) })
        return
      } catch (error) {
        log.debug({ err: error, port }, 'a simulated report could not be brought')
        await sleep(PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
      } finally {
        transport.close()
      }
    }
  }

  return {
    send: (returned) => {
      const bringing = bring(returned).finally(() => under.delete(bringing))
      under.add(bringing)
    },
    stop: async () => {
      stopping.abort()
      await Promise.all(under)
    },
  }
}

function mailOf(returned: Returned): string {
  return (returned.what === 'bounce' ? bounceOf(returned) : complaintOf(returned)).replaceAll('\n', '\r\n')
}

/** RFC 3464 */
function bounceOf({ status, text, recipient }: Returned): string {
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
function complaintOf({ what, recipient }: Returned): string {
  return `From: feedback@${SANDBOX_MX}
Subject: Complaint (simulated)
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="sandbox"

--sandbox
Content-Type: text/plain

The recipient ${what === 'complaint' ? 'says that this is spam' : 'wants no more of this'}.

--sandbox
Content-Type: message/feedback-report

Feedback-Type: ${what === 'complaint' ? 'abuse' : 'opt-out'}
User-Agent: Mailstead-Sandbox/1
Version: 1
Original-Rcpt-To: ${recipient}
--sandbox--
`
}
