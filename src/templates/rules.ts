/**
 * What a review of a template looks for; docs/guides/templates.md says the same. Apart from the review itself, which brings MJML and all that
 * inlines CSS along: whoever only names the rules does without 80 MB of it.
 */
export const RULES = {
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
    does: 'a variable is not in the table above, not an attribute of contacts, and not in `sample_data`',
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

export type Rule = keyof typeof RULES
