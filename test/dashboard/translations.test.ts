/**
 * Sentences with a code (src/platform/coded-text.ts) and the codes of errors have a German text in the dashboard, which
 * names nothing that the server does not give. An area of codes that is new belongs into the table.
 */
import { assert } from 'chai'
import { de } from '#dashboard/src/texts/de/de.ts'
import { server as german } from '#dashboard/src/texts/de/server.ts'
import { en } from '#dashboard/src/texts/en/en.ts'
import { findRefusalTranslation, REFUSAL_TEXTS } from '#api/http/refusal-texts.ts'
import { ENROLMENT_REASON_TEXTS, findEnrolmentTranslation } from '#src/automations/reason-texts.ts'
import { FINDING_TEXTS } from '#src/campaigns/finding-texts.ts'
import { CAMPAIGN_REASON_TEXTS, findCampaignTranslation, SEVERAL_TEXTS } from '#src/campaigns/reason-texts.ts'
import { ACTION_TEXTS, EVIDENCE_TEXTS } from '#src/deliverability/action-texts.ts'
import { DOCTOR_TEXTS } from '#src/doctor/finding-texts.ts'
import { REASONED_NAMES, reasonOf } from '#src/doctor/reasons.ts'
import { CHECK_NAMES } from '#src/egress/source-checks.ts'
import { findSourceCheckTranslation, SOURCE_CHECK_TEXTS } from '#src/egress/source-check-texts.ts'
import { LIVE_CHECK_TEXTS } from '#src/going-live/live-check-texts.ts'
import { BIMI_TEXTS, findBimiTranslation } from '#src/domains/bimi-texts.ts'
import { DOMAIN_STATUS_TEXTS, RECOMMENDATION_TEXTS, RECORD_TEXTS } from '#src/domains/record-texts.ts'
import { findImportTranslation, IMPORT_REASON_TEXTS } from '#src/imports/reason-texts.ts'
import { GATE_RULE_TEXTS, GATE_TEXTS, PROGRESS_TEXTS } from '#src/messages/gate-texts.ts'
import { findReasonTranslation, REASON_TEXTS } from '#src/messages/reason-texts.ts'
import { findNoticeTranslation, NOTICE_TEXTS } from '#src/operator/notice-texts.ts'
import { findTemplateTranslation, TEMPLATE_PROBLEM_TEXTS } from '#src/templates/problem-texts.ts'
import { findReviewTranslation, REVIEW_TEXTS } from '#src/templates/review-texts.ts'
import { NOTICE_KINDS } from '#src/operator/notices.ts'
import { PLACEHOLDER } from '#src/platform/coded-text.ts'
import { FINDING_TEXTS as PART_TEXTS } from '#src/platform/finding-text.ts'
import type { SentenceFinder } from '#src/platform/sentence-codes.ts'
import { REDIS_TEXTS } from '#src/stores/redis-suitability.ts'
import { FIELD_TEXTS, findFieldTranslation } from '#src/platform/field-texts.ts'
import { ERRORS } from '#src/platform/errors.ts'

const AREAS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  record: RECORD_TEXTS,
  recommendation: RECOMMENDATION_TEXTS,
  gate: GATE_TEXTS,
  progress: PROGRESS_TEXTS,
  finding: FINDING_TEXTS,
  action: ACTION_TEXTS,
  evidence: EVIDENCE_TEXTS,
  text: PART_TEXTS,
  doctor: DOCTOR_TEXTS,
  redis: REDIS_TEXTS,
  source_check: SOURCE_CHECK_TEXTS,
  live_check: LIVE_CHECK_TEXTS,
  notice_kind: NOTICE_KINDS,
  field: FIELD_TEXTS,
  gate_rule: GATE_RULE_TEXTS,
  domain_status: DOMAIN_STATUS_TEXTS,
  reason: REASON_TEXTS,
  bimi: BIMI_TEXTS,
  review: REVIEW_TEXTS,
  notice: NOTICE_TEXTS,
  refusal: REFUSAL_TEXTS,
  template: TEMPLATE_PROBLEM_TEXTS,
  campaign_reason: CAMPAIGN_REASON_TEXTS,
  several: SEVERAL_TEXTS,
  import_reason: IMPORT_REASON_TEXTS,
  enrolment_reason: ENROLMENT_REASON_TEXTS,
}
/** Of requests that got no answer, or one without a code. */
const ERRORS_OF_DASHBOARD = ['UNREACHABLE', 'UNKNOWN']

const english = new Map(
  Object.entries(AREAS).flatMap(([area, texts]) =>
    Object.entries(texts).map(([code, text]) => [`${area}.${code}`, text] as const),
  ),
)

describe('dashboard: translations of what the server says', () => {
  const checks = [
    ...REASONED_NAMES.flatMap((name) => [`check.${name}`, `check_reason.${name}`]),
    ...CHECK_NAMES.map((name) => `check.egress ${name}`),
  ]
  const errors = [...Object.keys(ERRORS), ...ERRORS_OF_DASHBOARD].map((code) => `error.${code}`)

  it('German has a text for each code, and for no other', () => {
    assert.sameMembers(Object.keys(german), [...english.keys(), ...checks, ...errors])
  })

  const FINDERS: readonly (readonly [area: string, texts: Readonly<Record<string, string>>, find: SentenceFinder])[] = [
    ['reason', REASON_TEXTS, findReasonTranslation],
    ['bimi', BIMI_TEXTS, findBimiTranslation],
    ['review', REVIEW_TEXTS, findReviewTranslation],
    ['notice', NOTICE_TEXTS, findNoticeTranslation],
    ['source_check', SOURCE_CHECK_TEXTS, findSourceCheckTranslation],
    ['field', FIELD_TEXTS, findFieldTranslation],
    ['refusal', REFUSAL_TEXTS, findRefusalTranslation],
    ['template', TEMPLATE_PROBLEM_TEXTS, findTemplateTranslation],
    ['campaign_reason', CAMPAIGN_REASON_TEXTS, findCampaignTranslation],
    ['finding', FINDING_TEXTS, findCampaignTranslation],
    ['import_reason', IMPORT_REASON_TEXTS, findImportTranslation],
    ['enrolment_reason', ENROLMENT_REASON_TEXTS, findEnrolmentTranslation],
  ]
  for (const [area, texts, find] of FINDERS)
    it(`each sentence of ${area} is found, and not taken for another`, () => {
      for (const [code, text] of Object.entries(texts)) assert.strictEqual(find(fill(text))?.code, `${area}.${code}`)
    })

  for (const [code, text] of english)
    it(`${code} names in German only what the server gives`, () => {
      assert.includeMembers(namesIn(text), namesIn(german[code] ?? ''))
    })
})

type Pair = readonly [path: string, english: string, german: string]

function* pairsOf(path: string, text: unknown, translated: unknown): Generator<Pair> {
  if (typeof text === 'string' && typeof translated === 'string') yield [path, text, translated]
  if (typeof text !== 'object' || text === null || typeof translated !== 'object' || translated === null) return
  for (const [name, value] of Object.entries(text))
    yield* pairsOf(`${path} ${name}`, value, (translated as Readonly<Record<string, unknown>>)[name])
}

describe('dashboard: one German word for one thing', () => {
  const pairs: readonly Pair[] = [
    ...pairsOf('', en, de),
    ...[...english].map(([code, text]): Pair => [code, text, german[code] ?? '']),
    ...REASONED_NAMES.map((name): Pair => [name, reasonOf(name), german[`check_reason.${name}`] ?? '']),
  ]
  const rules: readonly (readonly [what: string, word: RegExp, other: RegExp, isNot: RegExp])[] = [
    ['a receiver is an Empfangssystem', /\breceivers?\b/i, /\brecipients?\b/i, /Empfänger|Mailanbieter/],
    ['a recipient is an Empfänger', /\brecipients?\b/i, /\breceivers?\b/i, /Empfangssystem|Mailanbieter/],
  ]
  for (const [what, word, other, isNot] of rules)
    it(what, () => {
      const said = pairs.filter(([, text]) => word.test(text) && !other.test(text))
      assert.isAbove(said.length, 50)
      assert.deepEqual(
        said.filter(([, , translated]) => isNot.test(translated)),
        [],
      )
    })
})

/** A part of a template has a name of its own. */
function fill(text: string): string {
  return text.replaceAll(PLACEHOLDER, (_, name: string) => (name === 'part' ? 'body' : '7'))
}

function namesIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name)
}
