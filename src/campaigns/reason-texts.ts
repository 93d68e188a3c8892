/**
 * Why a campaign is not sent, by code. It is stored as a sentence: who paused it, or what its check found, joined by
 * semicolons.
 */
import { createSentenceFinder, findFirst } from '#src/platform/sentence-codes.ts'
import { findTemplateTranslation } from '#src/templates/problem-texts.ts'
import { findReviewTranslation } from '#src/templates/review-texts.ts'
import { FINDING_TEXTS } from './finding-texts.ts'

export const CAMPAIGN_REASON_TEXTS = {
  paused_by_hand: 'paused by hand',
  cancelled_by_hand: 'cancelled by hand',
  domain_not_verified: 'the sending domain is no longer verified',
  quota_used: 'the quota of this month is used up',
  changing: 'the campaign changed during validation; try again',
  own_clocks: "a campaign with a test or a spread cannot be sent at the recipients' local time",
  content_not_rendered: 'the content cannot be rendered: {problem}',
  sample_not_rendered: 'the template cannot be rendered with sample data: {problem}',
  subject_b: 'with subject B of the test: {problem}',
} as const satisfies Readonly<Record<string, string>>

export const SEVERAL_TEXTS = { findings: '{first}; {rest}' } as const

const findOne = findFirst(
  createSentenceFinder('campaign_reason', CAMPAIGN_REASON_TEXTS, {
    problem: (sentence) => findCampaignTranslation(sentence),
  }),
  createSentenceFinder('finding', FINDING_TEXTS),
  findReviewTranslation,
  findTemplateTranslation,
)

/** Null: the reason has no code. */
export const findCampaignTranslation = findFirst(
  findOne,
  createSentenceFinder('several', SEVERAL_TEXTS, {
    first: findOne,
    rest: (sentence) => findCampaignTranslation(sentence),
  }),
)
