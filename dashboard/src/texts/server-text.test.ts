import { assert } from 'chai'
import { sayError, saySentences, sayServerText, withLocalTimes, type Translation } from './server-text.ts'

describe('texts of the server in the language of the reader', () => {
  const wording = {
    language: 'de',
    server: {
      'record.cname_elsewhere': 'Der CNAME zeigt auf {found}.',
      'gate.suppressed': 'Gesperrt seit {since}.',
      'doctor.reports_late': '{waiting|Bericht wartet|Berichte warten}.',
      'error.CONFLICT': 'Das geht jetzt nicht.',
      'error.NOT_FOUND': 'Das gibt es nicht.',
    },
  } as const
  const cases: readonly [what: string, code: string | null, params: Record<string, string>, said: string][] = [
    ['by its code', 'record.cname_elsewhere', { found: 'a.example' }, 'Der CNAME zeigt auf a.example.'],
    ['a code that is not known, in the words of the server', 'record.later', {}, 'English'],
    ['without a code, in the words of the server', null, {}, 'English'],
    [
      'a parameter that looks like one of ours is text',
      'record.cname_elsewhere',
      { found: '{x}' },
      'Der CNAME zeigt auf {x}.',
    ],
    ['a parameter that is missing stays visible', 'record.cname_elsewhere', {}, 'Der CNAME zeigt auf {found}.'],
  ]
  for (const [what, code, params, said] of cases)
    it(what, () => assert.strictEqual(sayServerText(wording, 'English', code === null ? null : { code, params }), said))

  it('a time in the zone of the reader', () => {
    const at = { code: 'gate.suppressed', params: { since: '2026-11-02T12:00:00.000Z' } }
    assert.match(sayServerText(wording, 'English', at), /^Gesperrt seit 0?2\.11\.2026/)
  })

  const sentences: readonly [what: string, codes: readonly string[], said: string][] = [
    ['of one code', ['doctor.reports_late'], '1.234 Berichte warten.'],
    ['of several', ['doctor.reports_late', 'doctor.reports_late'], '1.234 Berichte warten. 1.234 Berichte warten.'],
    ['of one that is not known, in the words of the server', ['doctor.reports_late', 'later.code'], 'English'],
    ['without a code, in the words of the server', [], 'English'],
  ]
  for (const [what, codes, said] of sentences)
    it(`sentences ${what}`, () => {
      const translations = codes.map((code) => ({ code, params: { waiting: '1234' } }))
      assert.strictEqual(saySentences(wording, 'English', translations), said)
    })
  it('a count of one has its own word', () => {
    const one = { code: 'doctor.reports_late', params: { waiting: '1' } }
    assert.strictEqual(sayServerText(wording, 'English', one), '1 Bericht wartet.')
  })

  it('times in any text in the zone of the reader', () => {
    const text = 'rule busy, until 2026-11-02T12:00:00Z: 450 wait 2026-11-02, or 2026-13-77T99:00:00Z'
    assert.match(
      withLocalTimes(text, 'en'),
      /^rule busy, until Nov 2, 2026, \d?\d:00 .*: 450 wait 2026-11-02, or 2026-13-77T99:00:00Z$/,
    )
  })

  it('an error by its code; a specific one with what the server says', () => {
    const lost = { code: 'NOT_FOUND', message: 'No such key.', translation: null }
    const sent = { code: 'CONFLICT', message: 'It was sent.', translation: undefined }
    assert.strictEqual(sayError(wording, lost), 'Das gibt es nicht.')
    assert.strictEqual(sayError(wording, sent), 'Das geht jetzt nicht. (It was sent.)')
    assert.strictEqual(sayError({ ...wording, server: {} }, sent), 'It was sent.')
  })

  it('an error by the code of its sentence', () => {
    const translation = { code: 'record.cname_elsewhere', params: { found: 'a.example' } }
    const error = { code: 'CONFLICT', message: 'It points elsewhere.', translation }
    assert.strictEqual(sayError(wording, error), 'Der CNAME zeigt auf a.example.')
    const unknown = { ...error, translation: { code: 'later.code', params: {} } }
    assert.strictEqual(sayError(wording, unknown), 'Das geht jetzt nicht. (It points elsewhere.)')
  })

  it('a sentence in a sentence by its own code', () => {
    const inner = { code: 'doctor.reports_late', params: { waiting: '2' } }
    const outer = { code: 'record.cname_elsewhere', params: { found: '2 reports wait' } }
    const said = (found: Translation): string =>
      sayServerText(wording, 'English', { ...outer, param_translations: { found } })
    assert.strictEqual(said(inner), 'Der CNAME zeigt auf 2 Berichte warten..')
    assert.strictEqual(said({ code: 'later.code', params: {} }), 'Der CNAME zeigt auf 2 reports wait.')
  })
})
