/** The variables of mail: what campaigns and automations fill in, and what a source reads. */

/** With an example. docs/guides/templates.md explains them. */
export const TEMPLATE_VARIABLES: Readonly<Record<string, string>> = {
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'Lovelace',
  fullName: 'Ada Lovelace',
  company: 'Analytical Engines',
  jobTitle: 'Mathematician',
  phoneNumber: '+44 20 7946 0000',
  timezone: 'Europe/London',
  tags: 'customer',
  attributes: '',
  unsubscribeUrl: 'https://…',
  preferencesUrl: 'https://…',
  viewInBrowserUrl: 'https://…',
  'campaign.name': 'Spring',
  'workspace.name': 'Example',
  event: '',
}

export const TEMPLATE_HELPERS: Readonly<Record<string, string>> = {
  if: '{{#if name}}…{{/if}}',
  unless: '{{#unless name}}…{{/unless}}',
  each: '{{#each tags}}{{this}}{{/each}}',
  default: '{{default firstName "there"}}',
  upper: '{{upper code}}',
  lower: '{{lower code}}',
  capitalize: '{{capitalize name}}',
  truncate: '{{truncate text 80}}',
  number: '{{number total}}',
  date: '{{date created}}',
}

const NAME = /[A-Za-z_][\w]*(?:\.[A-Za-z_]\w*)*/g
const OTHER_WORDS = 'else with this true false null undefined as eq ne gt gte lt lte and or not trim lookup log'.split(
  ' ',
)
const KEYWORDS: ReadonlySet<string> = new Set([...Object.keys(TEMPLATE_HELPERS), ...OTHER_WORDS])

/** The names that a source reads, in order, each once. It reads roughly: the server finds what is wrong. */
export function findVariables(source: string): readonly string[] {
  const names = new Set<string>()
  for (const [, inner = ''] of source.matchAll(/\{\{\{?([^{}]{0,500})\}\}/g)) {
    // comments, ends of blocks and partials read nothing
    if (/^\s*[!/>]/.test(inner)) continue
    const bare = inner.replaceAll(/"[^"]*"|'[^']*'/g, ' ').replaceAll(/[\w.]+=/g, ' ')
    for (const [name] of bare.matchAll(NAME)) if (!KEYWORDS.has(name) && !name.startsWith('this.')) names.add(name)
  }
  return [...names]
}

/** Those that nothing fills in unless the sample data or the request does. */
export function unknownVariables(source: string, sampleNames: readonly string[]): readonly string[] {
  const known = new Set([...sampleNames, ...Object.keys(TEMPLATE_VARIABLES), 'campaign', 'workspace', 'companyName'])
  return findVariables(source).filter((name) => !known.has(name) && !known.has(name.split('.')[0] ?? ''))
}
