/** What the check of a template finds, by code. A problem of the template language stays in its own words. */
import { createSentenceFinder } from '#src/platform/sentence-codes.ts'

export const REVIEW_TEXTS = {
  too_large: 'the HTML is {size} KB when it is rendered and encoded; Gmail clips it at 102 KB',
  no_text: 'there is no text part; one is generated from the HTML',
  unsubscribe_missing: '{{{link}}} is missing',
  unsubscribe_in_block: '{{{link}}} is only in a block that may not be rendered',
  css_not_inlined: 'CSS is not inlined: a block opens elements that it does not close',
  variable_meant:
    '{{{variable}}} is neither a variable, a contact attribute, nor declared in sample_data. Did you mean {{{meant}}}?',
  variable: '{{{variable}}} is neither a variable, a contact attribute, nor declared in sample_data',
  image_without_alt: 'an image has no alt text',
} as const satisfies Readonly<Record<string, string>>

/** Null: the sentence has no code. */
export const findReviewTranslation = createSentenceFinder('review', REVIEW_TEXTS)
