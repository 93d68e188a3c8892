/**
 * The message of one claimed recipient as it goes over the wire: what was stored is marked, composed and signed; mail of a campaign or an
 * automation is written in a thread (compose/letters.ts) and signed. A message that cannot be made is an outcome, and fails alone. Rejects
 * when a store is away. The same recipient gets the same octets at each try.
 */
import { assemble, type Composed, type Draft } from '#mta/compose/draft.ts'
import type { Written as LetterAnswer } from '#mta/compose/letter-job.ts'
import type { SigningKey } from '#mta/compose/sign.ts'
import { trackDraft } from '#mta/compose/track.ts'
import type { Mail } from '#mta/smtp/envelope.ts'
import type { Claimed } from '#src/messages/claim.ts'
import type { Outcome } from '#src/messages/outcome.ts'
import type { Unfillable } from '#src/recipes/recipes.ts'
import { type MarkOrder, marksOf } from '#src/tracking/mark-order.ts'
import type { Stages } from './stages.ts'

type Written = Pick<Mail, 'data' | 'smtputf8'>

export async function writeMail(
  stages: Stages,
  claimed: Claimed,
  keys: readonly SigningKey[],
): Promise<Written | Outcome> {
  return claimed.recipe === null
    ? writeStored(stages, claimed, keys)
    : writeRecipe(stages, { ...claimed, recipe: claimed.recipe }, keys)
}

async function writeStored(stages: Stages, claimed: Claimed, keys: readonly SigningKey[]): Promise<Written | Outcome> {
  const draft = await draftOf(stages, claimed)
  const marks = draft.html === null && draft.raw === null ? null : await stages.marks(claimed)
  const composed = await compose(stages, draft, marks)
  if ('kind' in composed) return composed
  // programs have always written 8-bit headers without asking for SMTPUTF8, and servers have always let them through
  const mayNeedIt = draft.raw === null || claimed.submitted?.isUtf8 === true
  return {
    data: assemble(composed, await stages.sign(composed, keys)),
    smtputf8: (composed.needsSmtputf8 && mayNeedIt) || !isAscii(claimed.address),
  }
}

async function draftOf(stages: Stages, { content, messageId }: Claimed): Promise<Draft> {
  const texts = content.isLarge ? await stages.texts(messageId) : {}
  const attachments = content.hasAttachments ? await stages.attachments(messageId) : []
  return { ...content, ...texts, messageId, attachments }
}

async function compose(stages: Stages, draft: Draft, marks: MarkOrder | null): Promise<Composed | Outcome> {
  try {
    return await stages.compose(marks === null ? draft : trackDraft(draft, marksOf(marks)))
  } catch (error) {
    return cannotCompose(error instanceof Error ? error.message : String(error))
  }
}

type OfRecipe = Claimed & { readonly recipe: NonNullable<Claimed['recipe']> }

/** It is made when it is sent. */
async function writeRecipe(stages: Stages, claimed: OfRecipe, keys: readonly SigningKey[]): Promise<Written | Outcome> {
  const filled = await stages.fillIn(claimed)
  if (filled.kind !== 'filled') return unfillable(filled)
  const {
    messageId,
    content: { createdAt, from, replyTo, to, cc, headers },
    address,
  } = claimed
  const frame = { messageId, createdAt, from, replyTo, to, cc, headers: [...headers, ...filled.headers] }
  const letter = await stages.letters.write(filled.source, {
    params: filled.params,
    frame,
    marks: await stages.marks(claimed),
  })
  if (!letter.ok) return unwritten(letter, stages.now())
  return {
    data: assemble(letter, await stages.sign(letter.digest, keys)),
    smtputf8: letter.needsSmtputf8 || !isAscii(address),
  }
}

/** A template that hung for others is left alone for a while; nothing is known of this mail, and it waits. */
function unwritten({ reason, isRendered, pausedMs }: Extract<LetterAnswer, { ok: false }>, nowMs: number): Outcome {
  if (pausedMs !== undefined)
    return { kind: 'held', reason: 'template', detail: `its template: ${reason}`, untilMs: nowMs + Math.ceil(pausedMs) }
  return isRendered === true ? cannotCompose(reason) : unfillable({ kind: 'cannot-render', reason })
}

function unfillable(problem: Unfillable): Outcome {
  if (problem.kind === 'contact-gone')
    return { kind: 'failed', reason: 'contact-gone', detail: 'the contact was deleted' }
  return {
    kind: 'failed',
    reason: 'cannot-render',
    detail: `the template cannot be rendered for this contact: ${problem.reason}`,
  }
}

/** A message that nobody can compose. */
function cannotCompose(reason: string): Outcome {
  return { kind: 'failed', reason: 'cannot-compose', detail: `the message could not be composed: ${reason}` }
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length
}
