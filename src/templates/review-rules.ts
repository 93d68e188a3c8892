/**
 * The rules of a template review; docs/guides/templates.md lists the same rows. They are separate from the review
 * because the review imports MJML and the CSS inliner (80 MB), which modules that only need the rule names must not
 * load.
 */
export const REVIEW_RULES = {
  'cannot-be-saved': {
    level: 'error',
    does: 'it cannot be parsed or compiled, or it names a partial that does not exist',
  },
  'cannot-be-rendered': { level: 'error', does: 'rendering it with the sample data fails' },
  'missing-unsubscribe-url': {
    level: 'campaign',
    does:
      '`{{unsubscribeUrl}}` is not in every email: it is missing, in a comment, ' +
      'or in a block that may not be rendered',
  },
  'undeclared-variable': {
    level: 'warning',
    does:
      'a variable is not in the table above, not an attribute of contacts, and not in `sample_data`; ' +
      'the message names the nearest one that is',
  },
  'missing-text-part': {
    level: 'warning',
    does: 'there is HTML but no `text`; the response has the text that is generated from it',
  },
  'image-without-alt': { level: 'warning', does: 'an image has no `alt` (which may be empty)' },
  'css-not-inlined': {
    level: 'warning',
    does: 'there is a `<style>`, but a block opens elements that it does not close, so no CSS is inlined',
  },
  'too-large': { level: 'warning', does: 'rendered and encoded, it is larger than 102 KB: Gmail clips it' },
} as const satisfies Record<string, { readonly level: 'error' | 'campaign' | 'warning'; readonly does: string }>

export type ReviewRule = keyof typeof REVIEW_RULES
