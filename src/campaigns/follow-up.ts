/**
 * Creates a follow-up campaign for the recipients of a campaign who did not open it: a draft with the same content,
 * audiences and sender, which its owner can edit and send. Its recipients are selected when it starts, from the ledger
 * of the first campaign.
 */
import type { Queryable } from '#src/stores/db.ts'
import type { CampaignKey } from './transitions.ts'
import type { CampaignState } from './state.ts'
import { createCampaign, findCampaign, type Campaign } from './store.ts'

const SENT_STATES: readonly CampaignState[] = ['SENDING', 'PAUSED', 'SENT', 'COMPLETED', 'CANCELLED']
const MAX_NAME = 255

export type FollowUpResult =
  | { readonly kind: 'created'; readonly campaign: Campaign }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'too-many' }
  | { readonly kind: 'wrong-state'; readonly status: CampaignState }

/** `name` and `subject`: null copies the values of the first campaign. */
export async function createFollowUp(
  db: Queryable,
  { workspaceId, id }: CampaignKey,
  overrides: { readonly name: string | null; readonly subject: string | null },
): Promise<FollowUpResult> {
  const first = await findCampaign(db, workspaceId, id)
  if (first === null) return { kind: 'not-found' }
  if (!SENT_STATES.includes(first.status)) return { kind: 'wrong-state', status: first.status }
  const { templateId, body, text, fromEmail, fromName, replyTo, audienceIds, segmentId, trackOpens, trackClicks } =
    first
  const campaign = await createCampaign(db, workspaceId, {
    name: overrides.name ?? `${first.name} (again)`.slice(0, MAX_NAME),
    templateId,
    subject: overrides.subject ?? first.subject,
    body,
    text,
    fromEmail,
    fromName,
    replyTo,
    audienceIds,
    segmentId,
    trackOpens,
    trackClicks,
    followsId: id,
  })
  return campaign === null ? { kind: 'too-many' } : { kind: 'created', campaign }
}
