/**
 * A dry run rehearses a delivery with the stages of a real one: the gates, the route, the TLS policy, the source, a
 * connection of its own, MAIL and RCPT, then RSET and QUIT; and it checks signature, SPF and DMARC as a receiver would.
 * It never sends DATA: nothing is sent and nothing is counted. The report lists the steps, each with what to do about
 * it; a step that ends the path leaves out those after it.
 *
 * Its timeouts are short and the whole run has a limit, because the caller waits for the report. It does not throw for
 * what a message, a server or DNS does.
 */
import { assemble, type Draft } from '#mta/compose/draft.ts'
import { newId } from '#src/platform/id.ts'
import { parseAddress } from '#src/mail/address.ts'
import { resultOf, type DryRunOrder, type DryRunReport, type DryRunStep } from '#src/operator/dry-runs.ts'
import { examineDestination } from './destination.ts'
import { findSender, judgeFrom, judgeQuota, judgeSuppression, judgeSuspension } from './gates.ts'
import type { ComposedMail, DryRun, DryRunDeps } from './run.ts'
import { fail, ok } from './steps.ts'

const SECOND = 1000
/** After this long the report says what is known. */
const LONGEST_MS = 55 * SECOND

/** Resolves within a minute. */
export async function rehearse(deps: DryRunDeps, order: DryRunOrder): Promise<DryRunReport> {
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
  const walk = walkThrough(deps, order, { steps, lines }).catch((error: unknown) => {
    deps.ctx.log.error({ err: error }, 'a dry run ended in a way it should not')
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
  deps: DryRunDeps,
  order: DryRunOrder,
  { steps, lines }: { steps: DryRunStep[]; lines: string[] },
): Promise<void> {
  const to = parseAddress(order.to)
  if (!to.ok) return void steps.push(fail('recipient', `${order.to} is no address: ${to.reason}`, 'give one recipient'))
  const { step, sender } = await findSender(deps.ctx, order)
  steps.push(step)
  if (sender === null) return
  const run: DryRun = {
    ...deps,
    order: { ...order, to: to.address.address },
    messageId: newId(deps.ctx.clock.now()),
    domain: to.address.domain,
    sender,
    steps,
    lines,
  }
  const { ctx } = deps
  steps.push(await judgeQuota(ctx, deps.plans, sender))
  steps.push(await judgeSuppression(ctx, sender, run.order.to))
  steps.push(await judgeSuspension(ctx, run.messageId, sender, run.domain))
  const wrongFrom = judgeFrom(run.order)
  if (wrongFrom !== null) steps.push(wrongFrom)
  const mail = await composeMail(run)
  if (mail === null) return
  const sourceAddress = await examineDestination(run, mail)
  // loaded here: its verifier of mail is large, and a process that only sends has no use for it
  const { examine } = await import('./authentication.ts')
  steps.push(...(await examine(ctx.config, { ...mail, sourceAddress })))
}

/** The message as it would go out. */
async function composeMail({
  order,
  messageId,
  sender,
  steps,
  opened: { pipeline: stages, egress },
}: DryRun): Promise<ComposedMail | null> {
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
