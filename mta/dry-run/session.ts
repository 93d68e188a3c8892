/** The steps on a dedicated connection: source, connect, STARTTLS, MAIL and RCPT. It never sends DATA. */
import type { Host } from '#mta/route/route.ts'
import type { TlsPolicy } from '#mta/security/policy.ts'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import { connectFirst } from '#mta/transport/connect.ts'
import type { PooledSession } from '#mta/transport/connection-slots.ts'
import type { DryRunStep } from '#src/operator/dry-runs.ts'
import { formatReply } from '#src/mail/reply.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import { type ComposedMail, type DryRunContext, RETRY_HINT } from './dry-run-context.ts'
import { fail, ok, skipped, warn } from './steps.ts'

const SECOND = 1000
const TIMEOUTS = chooseTimeouts({
  connect: 10 * SECOND,
  greeting: 20 * SECOND,
  ehlo: 15 * SECOND,
  starttls: 10 * SECOND,
  tls: 10 * SECOND,
  mail: 15 * SECOND,
  rcpt: 15 * SECOND,
  rset: 5 * SECOND,
})

/** Returns the local address of the connection; null if none was made. */
export async function probeDestination(
  run: DryRunContext,
  mail: ComposedMail,
  destination: { readonly hosts: readonly Host[]; readonly tls: TlsPolicy },
): Promise<string | null> {
  const {
    messageId,
    domain,
    steps,
    lines,
    openPipeline: { egress, opening },
  } = run
  const isOurs = destination.hosts.every((host) => host.isMapped)
  const receiver = (): string => receiverOf(destination.hosts[0]?.name ?? null, domain)
  const choice = isOurs ? null : await egress.choose({ messageId, pool: mail.pool, receiver })
  if (choice?.kind === 'wait') {
    steps.push(fail('source', choice.detail, 'mailstead egress source list shows why no source may send'))
    return null
  }
  const endpoints = choice?.endpoints ?? [egress.system]
  steps.push(
    ok(
      'source',
      endpoints
        .map(
          ({ source, address, ehloName }) =>
            `${source ?? 'selected by the system'}${address === null ? '' : ` ${address}`}, EHLO ${ehloName}`,
        )
        .join('; '),
    ),
  )
  let local: string | null = null
  const watch = (socket: {
    once(event: 'connect', then: () => void): unknown
    readonly localAddress?: string | undefined
  }): void => {
    socket.once('connect', () => {
      local = socket.localAddress ?? null
    })
  }
  const opened = await connectFirst(
    { ...opening, settings: { ...opening.settings, timeouts: TIMEOUTS, onSocket: watch } },
    { ...destination, endpoints: endpoints },
    lines,
  )
  if (choice !== null) choice.finish(null)
  if ('session' in opened) await probeSession(run, mail, opened)
  else
    steps.push(
      fail('connect', opened.detail, `the conversation shows how far it got; ${RETRY_HINT}`),
      skipped('MAIL and RCPT', 'there is no session'),
    )
  return local
}

async function probeSession(
  { request: order, steps, lines }: DryRunContext,
  mail: ComposedMail,
  { session, host, address }: PooledSession,
): Promise<void> {
  lines.push(...session.opening)
  steps.push(
    ok(
      'connect',
      `${host} [${address}] in ${Math.round(session.connectMs)} ms; ready after ${Math.round(session.openMs)} ms`,
    ),
  )
  steps.push(tlsStep(session.tls))
  const { refused, loss, conversation } = await session.probe({
    from: mail.returnPath,
    to: order.to,
    data: mail.data,
    smtputf8: mail.smtputf8,
  })
  lines.push(...conversation)
  await session.quit()
  if (refused !== null)
    steps.push(
      fail(
        refused.stage.toUpperCase(),
        formatReply(refused.reply),
        refused.reply.code < 500 ? RETRY_HINT : 'a real message would bounce',
      ),
    )
  else if (loss !== null && loss.cause !== 'aborted')
    steps.push(fail('MAIL and RCPT', `connection lost: ${loss.detail}`, RETRY_HINT))
  else steps.push(ok('MAIL and RCPT', `${host} would accept it for ${order.to}`))
}

function tlsStep(tls: PooledSession['session']['tls']): DryRunStep {
  if (tls === null) {
    const todo = 'require TLS for this domain if that is not acceptable'
    return warn('STARTTLS', 'the server offers no TLS: mail would go in plain text', todo)
  }
  const certificate = `certificate ${tls.authorized ? 'verified' : 'not verified'}`
  return ok('STARTTLS', `${tls.protocol} ${tls.cipher}, ${certificate}`)
}
