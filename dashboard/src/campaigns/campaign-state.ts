/** What a campaign's state permits, and how far it is. The rules are those of the API (docs/guides/campaigns.md). */
import type { CampaignAnswer } from '#dashboard/src/api/endpoints.ts'
import type { Tone } from '#dashboard/src/ui/tone.ts'

export type Campaign = CampaignAnswer['data']
export type CampaignStatus = Campaign['status']
export type Metrics = Campaign['metrics']

export const STATUSES: readonly CampaignStatus[] = [
  'DRAFT',
  'SCHEDULED',
  'SENDING',
  'PAUSED',
  'SENT',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
]

export const STATUS_TONES: Readonly<Record<CampaignStatus, Tone>> = {
  DRAFT: 'neutral',
  SCHEDULED: 'info',
  SENDING: 'accent',
  PAUSED: 'warning',
  SENT: 'accent',
  COMPLETED: 'success',
  FAILED: 'danger',
  CANCELLED: 'neutral',
}

export type CampaignAction =
  | 'edit'
  | 'remove'
  | 'start'
  | 'recall'
  | 'pause'
  | 'resume'
  | 'cancel'
  | 'retry'
  | 'follow-up'

const ACTIONS: Readonly<Record<CampaignStatus, readonly CampaignAction[]>> = {
  DRAFT: ['edit', 'remove'],
  SCHEDULED: ['start', 'recall', 'cancel'],
  SENDING: ['pause', 'cancel'],
  PAUSED: ['resume', 'cancel'],
  SENT: ['pause', 'cancel', 'retry', 'follow-up'],
  COMPLETED: ['retry', 'follow-up'],
  FAILED: [],
  CANCELLED: [],
}

/** The actions that have an effect now: nobody is offered a retry without failed mail. */
export function actionsOf({ status, metrics }: Pick<Campaign, 'status' | 'metrics'>): readonly CampaignAction[] {
  return ACTIONS[status].filter((action) => {
    if (action === 'retry') return retryableOf(metrics) > 0
    if (action === 'follow-up') return metrics.delivered > 0
    return true
  })
}

/** Recipients that a retry sends to. */
export function retryableOf({ failed, bounced_soft: soft }: Pick<Metrics, 'failed' | 'bounced_soft'>): number {
  return failed + soft
}

/** The share of recipients that do not wait any more; null where nothing is under way. */
export function progressOf({ status, metrics }: Pick<Campaign, 'status' | 'metrics'>): number | null {
  if (!['SENDING', 'PAUSED', 'SENT'].includes(status) || metrics.recipients === 0) return null
  return (metrics.recipients - metrics.waiting) / metrics.recipients
}
