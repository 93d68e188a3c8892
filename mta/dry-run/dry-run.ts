/**
 * A sending that is only rehearsed, with the same stages as a real one: the gates, the route, the TLS policy, the source, a connection of
 * its own, MAIL and RCPT, then RSET and QUIT; and what a receiver would find about signature, SPF and DMARC. Nothing is sent and nothing is
 * counted: DATA is never said. A list of steps, each told with what to do about it; one that stops the way leaves out those behind it.
 *
 * Its waits are short, and the whole has an end: whoever asks waits for it. Never throws for what a message, a server or DNS does.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Plans } from '#config/plans.ts'
import { assemble, type Draft } from '#mta/compose/draft.ts'
import type { Host } from '#mta/route/route.ts'
import type { TlsPolicy } from '#mta/security/policy.ts'
import { chooseTimeouts } from '#mta/smtp/timeouts.ts'
import { openFirst } from '#mta/transport/opening.ts'
import type { Pooled } from '#mta/transport/session-pool.ts'
import type { Context } from '#src/context.ts'
import { newId } from '#src/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { formatReply } from '#src/mail/reply.ts'
import { resultOf, type DryRunOrder, type DryRunReport, type DryRunStep } from '#src/operator/dry-runs.ts'
import { receiverOf } from '#src/suppression/receiver.ts'
import type { Assembled } from '#mta/stages.ts'
import type { Examined } from './authentication.ts'
import {
  findSender,
  judgeFrom,
  judgePace,
  judgeQuota,
  judgeSuppression,
  judgeSuspension,
  type Sender,
} from './gates.ts'
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
/** A fetch is given up before. */
const POLICY_WAIT_MS = 16 * SECOND
const POLICY_LOOK_MS = 250
/** So long is worth a word. */
const POLICY_TOLD_MS = 500
const WAITS = 'mail would wait and try again'
/** Who asked is answered by then, with what is known. */
const LONGEST_MS = 55 * SECOND

export interface Means {
  readonly ctx: Context
  readonly plans: Plans
  readonly assembled: Assembled
}

interface Run extends Means {
  readonly order: DryRunOrder
  readonly messageId: string
  readonly domain: string
  readonly sender: Sender
  readonly steps: DryRunStep[]
  readonly lines: string[]
}

/** Resolves within a minute. */
export async function rehearse(means: Means, order: DryRunOrder): Promise<DryRunReport> {
  const steps: DryRunStep[] = []
  const lines: string[] = []
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      steps.push(
        fail(
          'time',
          `it took longer than ${LONGEST_MS / SECOND} seconds`,
          'the last line of the conversation says what was waited for',
        ),
      )
      resolve()
    }, LONGEST_MS)
  })
  const walk = walkThrough(means, order, { steps, lines }).catch((error: unknown) => {
    means.ctx.log.error({ err: error }, 'a dry run ended in a way it should not')
    steps.push(
      fail(
        'our trouble',
        `it could not be carried on: ${error instanceof Error ? error.message : String(error)}`,
        'see the log of the mta',
      ),
    )
  })
  await Promise.race([walk, late])
  clearTimeout(timer)
  return { result: resultOf(steps), steps: [...steps], conversation: [...lines] }
}

async function walkThrough(
  means: Means,
  order: DryRunOrder,
  { steps, lines }: { steps: DryRunStep[]; lines: string[] },
): Promise<void> {
  const to = parseAddress(order.to)
  if (!to.ok) return void steps.push(fail('recipient', `${order.to} is no address: ${to.reason}`, 'give one recipient'))
  const { step, sender } = await findSender(means.ctx, order)
  steps.push(step)
  if (sender === null) return
  const run: Run = {
    ...means,
    order: { ...order, to: to.address.address },
    messageId: newId(means.ctx.clock.now()),
    domain: to.address.domain,
    sender,
    steps,
    lines,
  }
  const { ctx } = means
  steps.push(await judgeQuota(ctx, means.plans, sender))
  steps.push(await judgeSuppression(ctx, sender, run.order.to))
  steps.push(await judgeSuspension(ctx, run.messageId, sender, run.domain))
  const wrongFrom = judgeFrom(run.order)
  if (wrongFrom !== null) steps.push(wrongFrom)
  const mail = await composeMail(run)
  if (mail === null) return
  const sourceAddress = await travel(run, mail)
  // with a verifier of mail that is large, and of no use to a process that only sends
  const { examine } = await import('./authentication.ts')
  steps.push(...(await examine(ctx.config, { ...mail, sourceAddress })))
}

type Written = Omit<Examined, 'sourceAddress'> & { readonly smtputf8: boolean; readonly pool: string }

/** The message as it would go out. */
async function composeMail({
  order,
  messageId,
  sender,
  steps,
  assembled: { stages, egress },
}: Run): Promise<Written | null> {
  const domain = await stages.sendingDomain(sender.domainId)
  const keys = domain.kind === 'ready' ? domain.keys : []
  try {
    const composed = await stages.compose(draftOf(order, messageId))
    const data = assemble(composed, await stages.sign(composed, keys))
    const signed =
      keys.length === 0 ? 'not signed' : `signed with ${keys.map(({ algorithm }) => algorithm).join(' and ')}`
    steps.push(ok('message', `${data.length} bytes, ${signed}`))
    const returnPath = stages.returnPath(
      { messageId, n: 0, submitted: null },
      domain.kind === 'ready' ? domain.mailFrom : null,
    )
    const pool = domain.kind === 'ready' ? domain.pool : ''
    return { data, smtputf8: composed.needsSmtputf8, returnPath, ehloName: egress.system.ehloName, pool }
  } catch (error) {
    steps.push(
      fail(
        'message',
        `it cannot be composed: ${error instanceof Error ? error.message : String(error)}`,
        'mend the message',
      ),
    )
    return null
  }
}

function draftOf({ from, to, raw }: DryRunOrder, messageId: string): Draft {
  return {
    messageId,
    createdAt: new Date(),
    from: { email: from, name: null },
    replyTo: null,
    to: [{ email: to, name: null }],
    cc: [],
    subject: 'Dry run',
    html: null,
    text: 'This message is not sent.',
    headers: [],
    attachments: [],
    raw,
  }
}

/** From DNS to RCPT; answers the address that we connected from, null where no connection was made. */
async function travel(run: Run, mail: Written): Promise<string | null> {
  const {
    ctx,
    domain,
    sender,
    steps,
    assembled: { stages },
  } = run
  const route = await stages.route(domain)
  if (route.kind !== 'hosts') {
    const todo =
      route.kind === 'refused'
        ? 'the recipient’s domain takes no mail: look at the address'
        : 'see that DNS_SERVERS answer; it is asked again later'
    steps.push(fail('MX', route.text, todo))
    return null
  }
  steps.push(
    ok('MX', `${route.hosts.map(({ name, preference }) => `${name} (${preference})`).join(', ')}; site ${route.site}`),
  )
  steps.push(await judgePace(ctx, sender, domain, route))
  steps.push(await findAddresses(run, route.hosts))
  const { tls, waitedMs } = await awaitPolicy(run, route.hosts)
  steps.push(tlsStep(tls, waitedMs))
  return connect(run, mail, { hosts: route.hosts, tls })
}

/** A policy that is being fetched is waited for, as a message waits for it; not longer than its fetch may take. */
async function awaitPolicy(
  { domain, assembled: { stages } }: Run,
  hosts: readonly Host[],
): Promise<{ tls: TlsPolicy; waitedMs: number }> {
  const began = performance.now()
  for (;;) {
    const tls = await stages.tlsPolicy(domain, hosts)
    const waitedMs = Math.round(performance.now() - began)
    if (!tls.isPending || waitedMs > POLICY_WAIT_MS) return { tls, waitedMs }
    await sleep(POLICY_LOOK_MS)
  }
}

async function findAddresses({ assembled: { opening } }: Run, hosts: readonly Host[]): Promise<DryRunStep> {
  const found = await Promise.all(
    hosts.slice(0, 5).map(async (host) => ({ host: host.name, ...(await opening.resolve(host)) })),
  )
  const says = found
    .map(({ host, addresses, trouble }) => `${host}: ${trouble === null ? addresses.join(', ') : trouble.text}`)
    .join('; ')
  if (found.every(({ addresses }) => addresses.length === 0))
    return fail('addresses', says, 'no host of the receiver can be reached by an address')
  return found.every(({ trouble }) => trouble === null)
    ? ok('addresses', says)
    : warn('addresses', says, 'the others are used')
}

function tlsStep({ isRequired, dane, sts, stsTrouble, isPending, domain }: TlsPolicy, waitedMs: number): DryRunStep {
  const parts = [
    isRequired ? 'required by the operator' : 'used where it is offered',
    dane === 'no' ? 'no DANE' : `DANE: ${dane}`,
    sts === null
      ? 'no MTA-STS'
      : `MTA-STS ${sts.mode}${waitedMs < POLICY_TOLD_MS ? '' : `, known after ${waitedMs} ms`}`,
  ]
  if (isPending)
    return warn(
      'TLS policy',
      `the MTA-STS policy of ${domain} is still being fetched after ${waitedMs} ms`,
      'mail waits until it is there or its fetch has failed',
    )
  if (stsTrouble === null && dane !== 'unknown') return ok('TLS policy', parts.join(', '))
  return warn(
    'TLS policy',
    `${parts.join(', ')}; it could not be looked up whole`,
    'it is asked again; mail waits where DANE cannot be looked up',
  )
}

async function connect(
  run: Run,
  mail: Written,
  destination: { readonly hosts: readonly Host[]; readonly tls: TlsPolicy },
): Promise<string | null> {
  const {
    messageId,
    domain,
    steps,
    lines,
    assembled: { egress, opening },
  } = run
  const isOurs = destination.hosts.every((host) => host.isOurs)
  const receiver = (): string => receiverOf(destination.hosts[0]?.name ?? null, domain)
  const choice = isOurs ? null : await egress.choose({ messageId, pool: mail.pool, receiver })
  if (choice?.kind === 'wait') {
    steps.push(fail('source', choice.detail, 'mailstead egress source list tells why no source may send'))
    return null
  }
  const ways = choice?.ways ?? [egress.system]
  steps.push(
    ok(
      'source',
      ways
        .map(
          ({ source, address, ehloName }) =>
            `${source ?? 'chosen by the system'}${address === null ? '' : ` ${address}`}, EHLO ${ehloName}`,
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
  const opened = await openFirst(
    { ...opening, settings: { ...opening.settings, timeouts: TIMEOUTS, watch } },
    { ...destination, ways },
    lines,
  )
  if (choice !== null) choice.done(null)
  if ('session' in opened) await converse(run, mail, opened)
  else
    steps.push(
      fail('connect', opened.detail, 'the conversation says how far it came; mail would wait and try again'),
      skipped('MAIL and RCPT', 'there is no session'),
    )
  return local
}

async function converse(
  { order, steps, lines }: Run,
  mail: Written,
  { session, host, address }: Pooled,
): Promise<void> {
  lines.push(...session.opening)
  steps.push(
    ok(
      'connect',
      `${host} [${address}] in ${Math.round(session.connectMs)} ms; ready after ${Math.round(session.openMs)} ms`,
    ),
  )
  steps.push(
    session.tls === null
      ? warn(
          'STARTTLS',
          'the server offers no TLS: mail would go in plain text',
          'require TLS for this domain if it must not',
        )
      : ok(
          'STARTTLS',
          `${session.tls.protocol} ${session.tls.cipher}, certificate ${session.tls.authorized ? 'verified' : 'not verified'}`,
        ),
  )
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
        refused.reply.code < 500 ? WAITS : 'mail would bounce',
      ),
    )
  else if (loss !== null && loss.cause !== 'aborted')
    steps.push(fail('MAIL and RCPT', `the connection was lost: ${loss.detail}`, WAITS))
  else steps.push(ok('MAIL and RCPT', `${host} would take it for ${order.to}`))
}
