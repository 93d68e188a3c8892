/**
 * What a review of a template looks for; docs/templates.md says the same. Apart from the review itself, which brings MJML and all that
 * inlines CSS along: whoever only names the rules does without 80 MB of it.
 */
export const RULES = {
  'cannot-be-saved': { level: 'error', does: 'it cannot be parsed, compiled, or names a partial that is not there' },
  'cannot-be-rendered': { level: 'error', does: 'rendering it with the sample data fails' },
  'missing-unsubscribe-url': {
    level: 'campaign',
    does: '`{{unsubscribeUrl}}` is not in every mail: it is missing, hidden in a comment, or in a block that may be left out',
  },
  'undeclared-variable': {
    level: 'warning',
    does: 'a variable that is neither of the table above, nor an attribute of contacts, nor in `sample_data`',
  },
  'missing-text-part': {
    level: 'warning',
    does: 'there is HTML and no `text`; the answer has the text that is made of it',
  },
  'image-without-alt': { level: 'warning', does: 'an image without `alt` (which may be empty)' },
  'css-not-inlined': {
    level: 'warning',
    does: 'there is a `<style>`, and a block opens elements that it does not close, so nothing is inlined',
  },
  'too-large': { level: 'warning', does: 'rendered and encoded it is larger than 102 KB: Gmail cuts it off' },
} as const satisfies Record<string, { readonly level: 'error' | 'campaign' | 'warning'; readonly does: string }>

export type Rule = keyof typeof RULES
