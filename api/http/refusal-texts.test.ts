/** What routes say when they refuse a request has a code, unless no page of the dashboard can meet it. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { findRefusalTranslation } from './refusal-texts.ts'

const ROOT = join(import.meta.dirname, '../..')
const LITERAL = `'(?:[^'\\\\\\n]|\\\\.)*'|"[^"\\n]*"|\`[^\`]*\``
const LITERALS = `(?:(?:${LITERAL})(?:\\s*\\+\\s*)?)+`
/** The call, and what it says: a literal, or an expression. */
const REFUSAL = new RegExp(
  `\\b(?:(?:refuse|rateLimited)\\(\\s*'\\w+',|unsupported\\()\\s*(?:(${LITERALS})|([\\w.]+)(?!\\w*:))`,
  'g',
)

/** For programs, for recipients of mail, and for readers of the documentation. */
const NOT_OF_DASHBOARD = new Set([
  'api/http/operator-access.ts',
  'api/openapi/error-responses.ts',
  'api/routes/docs.ts',
  'api/routes/guides.ts',
  'api/routes/subscribe-form.ts',
  'api/routes/tls-reports.ts',
  'api/routes/tracking.ts',
  'api/routes/unsubscribe.ts',
  'api/sending/raw.ts',
])
const WITHOUT_CODE = [
  // keys of programs
  /^The API key is missing|^This endpoint is for people|^This key may not be used/,
  /needs a(?:n Admin| Regular) key|^This Admin key/,
  /^The plan 7 allows 7 requests|^This host serves only hosted mail|^There is no such file/,
  // a path, and what the host of a file said
  /^7: 7$/,
  // both of its ends are tested below
  /^The campaign cannot be sent: 7\. 7$/,
]

/** They say what an expression says: their sentences are checked where they are written, or by the tests below. */
const COMPUTED = [
  'api/routes/automations.ts: changed.reason',
  // what the provider of a connected account said
  'api/routes/oauth.ts: received.reason',
  'api/routes/oauth.ts: stored.reason',
  // files that a program names by their URL
  'api/sending/load-attachments.ts: result.reason',
  // its calls are read
  'api/http/body-reader.ts: message',
]

interface Said {
  readonly file: string
  readonly sentence: string
}

const FILES = globSync('{api,src}/**/*.ts', { cwd: ROOT }).filter(
  (file) => !/\.test(?:-data)?\.ts$/.test(file) && !NOT_OF_DASHBOARD.has(file),
)

/** `message` or a constant: its literals in the same file. */
function readExpression(source: string, name: string): string[] {
  const found = [...source.matchAll(new RegExp(`\\bconst ${name} =\\s*(${LITERALS})`, 'g'))]
  return found.map(([, literals = '']) => literals)
}

function readFile(file: string): { said: Said[]; computed: string[] } {
  const source = readFileSync(join(ROOT, file), 'utf8')
  const calls = [...source.matchAll(REFUSAL)]
  const read = calls.map(([, literals, expression = '']) => ({
    expression,
    texts: literals === undefined ? readExpression(source, expression) : [literals],
  }))
  return {
    said: read.flatMap(({ texts }) => texts.map((literals) => ({ file, sentence: joinLiterals(literals) }))),
    computed: read.filter(({ texts }) => texts.length === 0).map(({ expression }) => `${file}: ${expression}`),
  }
}

function joinLiterals(literals: string): string {
  return [...literals.matchAll(new RegExp(LITERAL, 'g'))]
    .map(([one]) => one.slice(1, -1))
    .join('')
    .replaceAll(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, '7')
    .replaceAll("\\'", "'")
    .replaceAll('\\`', '`')
}

describe('what refusals say', () => {
  const files = FILES.map(readFile)

  it('has a code', () => {
    const said = files.flatMap((file) => file.said)
    assert.isAbove(said.length, 190)
    const unknown = said.filter(
      ({ sentence }) => findRefusalTranslation(sentence) === null && !WITHOUT_CODE.some((one) => one.test(sentence)),
    )
    assert.deepEqual(
      unknown.map(({ file, sentence }) => `${file}: ${sentence}`),
      [],
    )
  })

  it('is a sentence here, or one of few that are computed', () => {
    const computed = files.flatMap((file) => file.computed)
    assert.sameMembers([...new Set(computed)], COMPUTED)
  })

  const nested: readonly [what: string, sentence: string, codes: readonly string[]][] = [
    [
      'a problem of a template',
      'The template cannot be rendered: the body, line 2: unknown helper "shout"; available helpers: if, unless',
      ['refusal.template_not_rendered', 'template.at_line', 'template.unknown_helper'],
    ],
    [
      'a problem of a partial',
      'The partial is invalid: the template "News" cannot be compiled with it: the text part, line 1 of the partial ' +
        'foot: there is no partial "x"',
      ['refusal.partial_invalid', 'template.of_template', 'template.line_of_partial', 'template.no_partial'],
    ],
    [
      'why a campaign cannot be sent',
      'The campaign cannot be sent: the campaign has no recipients. Correct this: nobody cannot be forced.',
      ['refusal.campaign_blocked', 'finding.nobody'],
    ],
    [
      'several findings of a campaign',
      'The campaign cannot be sent: the campaign has no recipients; paused by hand. Correct this, or send it anyway ' +
        'with {"force": true} in the request.',
      ['refusal.campaign_blocked_for_now', 'several.findings'],
    ],
    [
      'what another program said',
      'The template is invalid: the body: its CSS cannot be parsed: undefined:1:9: missing "}"',
      ['refusal.template_invalid', 'template.in_part', 'template.css'],
    ],
  ]
  for (const [what, sentence, codes] of nested)
    it(`has the codes of ${what} in it`, () => {
      const found: string[] = []
      for (let at = findRefusalTranslation(sentence); at !== null; at = at.param_translations?.['problem'] ?? null)
        found.push(at.code)
      assert.deepEqual(found, codes)
    })

  it('is not looked for in a long sentence', () => {
    assert.isNull(findRefusalTranslation(`The template is invalid: ${'x; '.repeat(200)}`))
  })
})
