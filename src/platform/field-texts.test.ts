/** Each sentence has its own code; those that routes say about a field are found. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert } from 'chai'
import { FIELD_TEXTS, findFieldTranslation } from './field-texts.ts'

const ROOT = join(import.meta.dirname, '../..')
const LITERAL = `'(?:[^'\\\\\\n]|\\\\.)*'|"[^"\\n]*"|\`[^\`]*\``
const LITERALS = `((?:(?:${LITERAL})(?:\\s*\\+\\s*)?)+)`
/** Where a sentence about a field stands: in a problem of its own, or as the last argument of a check of zod. */
const PLACES = [
  `(?:path|code: 'custom')[^}]{0,200}?message:\\s*${LITERALS}`,
  `\\.(?:min|max|regex|length|refine|int|gte|lte)\\((?:[^()]|\\([^()]*\\))*?,\\s*${LITERALS}\\s*,?\\s*\\)`,
  `addIssue\\([^;]{0,120}?,\\s*${LITERALS}\\s*\\)`,
].map((source) => new RegExp(source, 'g'))

/** No page of the dashboard sends such requests, or the sentence is no problem of a field. */
const WITHOUT_CODE: readonly RegExp[] = [
  /^(?:the client disconnected|give a filter|give one of domain, site|pages end at|must be One-Click|needs group_by)/,
  /^(?:the proof of work|the body is not a TLS report|there is no such event|name the workspace by its id)/,
  /^The campaign is |^knows no |^has no counter |^is not a valid cursor: |or start again with an empty cursor$/,
  /in JSON; send more as text\/csv$|^is at most .* counters: reduce it|^\$\{group\} /,
]

interface Said {
  readonly file: string
  readonly sentence: string
}

function sentencesOf(file: string): Said[] {
  const source = readFileSync(join(ROOT, file), 'utf8')
  return PLACES.flatMap((place) => [...source.matchAll(place)]).map(([, literals = '']) => ({
    file,
    sentence: [...literals.matchAll(new RegExp(LITERAL, 'g'))].map(([one]) => one.slice(1, -1)).join(''),
  }))
}

const FILES = globSync('{api,src}/**/*.ts', { cwd: ROOT }).filter(
  (file) => !/\.test(?:-data)?\.ts$|openapi|response-schemas|config/.test(file),
)

describe('sentences about fields', () => {
  for (const [code, text] of Object.entries(FIELD_TEXTS))
    it(`${code} is found`, () => {
      const said = text.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        /^(?:max|min|days|byte|line)$/.test(name) ? '7' : name,
      )
      assert.strictEqual(findFieldTranslation(said)?.code, `field.${code}`)
    })

  it('have what they name as parameters', () => {
    assert.deepEqual(findFieldTranslation('must be one of a, b; did you mean a?'), {
      code: 'field.one_of_meant',
      params: { choices: 'a, b', meant: 'a' },
    })
    assert.deepEqual(findFieldTranslation('at most 1,000 characters')?.params, { max: '1,000' })
    assert.isNull(findFieldTranslation('at most many characters'))
    assert.isNull(findFieldTranslation('something else'))
    assert.isNull(findFieldTranslation(`${'x'.repeat(1000)} is not an email address`))
  })

  it('have a code wherever a route says one', () => {
    const all = FILES.flatMap(sentencesOf).filter(({ sentence }) => sentence.includes(' '))
    assert.isAbove(all.length, 150)
    const unknown = all.filter(({ sentence }) => {
      const said = sentence.replaceAll(/\$\{[^}]*\}/g, '7').replaceAll("\\'", "'")
      return findFieldTranslation(said) === null && !WITHOUT_CODE.some((one) => one.test(sentence))
    })
    assert.deepEqual(
      unknown.map(({ file, sentence }) => `${file}: ${sentence}`),
      [],
    )
  })
})
