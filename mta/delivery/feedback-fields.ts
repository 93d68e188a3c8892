/**
 * The fields that feedback loops evaluate. Feedback-ID groups complaints (Gmail); X-Mailstead-Token identifies the
 * recipient in a complaint whose addresses are redacted: it is the token of the return-path. Mail that is forwarded,
 * and reports of this server, have neither.
 */
import type { Config } from '#config/load.ts'
import type { Composed } from '#src/mime/draft.ts'
import { makeField } from '#src/mime/field.ts'
import { hexOf } from '#src/platform/id.ts'
import type { ClaimedRecipient } from '#src/messages/claim.ts'

type Fields = readonly (readonly [name: string, value: string])[]
export type FeedbackRecipient = Pick<
  ClaimedRecipient,
  'messageId' | 'n' | 'workspaceId' | 'campaignId' | 'tier' | 'submitted'
>

const TOKEN_FIELD = 'X-Mailstead-Token'
const FEEDBACK_ID = 'Feedback-ID'

export interface FeedbackDeps {
  readonly config: Pick<Config, 'feedbackSenderId' | 'operatorDkimDomain'>
  /** The local part of the return-path. */
  readonly tokenOf: (recipient: FeedbackRecipient) => string
}

export function feedbackFieldsOf({ config, tokenOf }: FeedbackDeps, recipient: FeedbackRecipient): Fields {
  const { submitted, campaignId, workspaceId, tier } = recipient
  if (submitted?.isReport === true || submitted?.forward !== undefined) return []
  const sender = config.feedbackSenderId
  const campaign = campaignId === null ? '' : hexOf(campaignId)
  return [
    ...(config.operatorDkimDomain === null ? [] : [[TOKEN_FIELD, tokenOf(recipient)] as const]),
    ...(sender === null ? [] : [[FEEDBACK_ID, `${campaign}:${hexOf(workspaceId)}:${tier}:${sender}`] as const]),
  ]
}

/** Adds the fields above the header. A message keeps a Feedback-ID of its own. */
export function withFeedbackFields(composed: Composed, fields: Fields): Composed {
  if (fields.length === 0) return composed
  const names = composed.fields.map(({ name }) => name)
  const added = missingFrom(names, fields).map((field) => makeField(...field))
  return {
    ...composed,
    fields: [...added, ...composed.fields],
    head: added.map(({ line }) => line).join('') + composed.head,
  }
}

/** The same before a message is composed. */
export function withFeedbackHeaders(headers: Fields, fields: Fields): Fields {
  if (fields.length === 0) return headers
  const names = headers.map(([name]) => name.toLowerCase())
  return [...headers, ...missingFrom(names, fields)]
}

function missingFrom(names: readonly string[], fields: Fields): Fields {
  return fields.filter(([name]) => name !== FEEDBACK_ID || !names.includes(FEEDBACK_ID.toLowerCase()))
}
