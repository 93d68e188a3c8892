import { assert } from 'chai'
import { ApiError, queryOf, setErrorLanguage } from './endpoint.ts'

describe('requests of the dashboard', () => {
  const queries: readonly [what: string, query: object, text: string][] = [
    ['nothing', {}, ''],
    ['values', { limit: 50, state: 'open' }, '?limit=50&state=open'],
    ['no empty values', { search: '', from: null, to: undefined }, ''],
    ['an empty cursor, which asks for the cursor of the next page', { limit: 50, cursor: '' }, '?limit=50&cursor='],
    ['each value of a list', { tag: ['a', 'b c'] }, '?tag=a&tag=b+c'],
  ]
  for (const [what, query, text] of queries) it(`have ${what}`, () => assert.strictEqual(queryOf(query), text))

  describe('that are refused', () => {
    const answer = {
      error: 'VALIDATION_ERROR',
      message: 'name: is required',
      details: [
        { path: 'name', message: 'is required' },
        { path: 'from', message: 'is odd' },
      ],
      detail_translations: [{ code: 'field.required', params: {} }, null],
    } as const
    const english = { sayError: (_: string, text: string) => text, sayDetail: (text: string) => text }
    afterEach(() => setErrorLanguage(english))

    it('say what the server says in English', () => {
      const error = new ApiError(400, answer)
      assert.deepEqual([error.message, error.details], ['name: is required', answer.details])
    })

    it('say what has a code in the language of the reader', () => {
      setErrorLanguage({
        sayError: (_, text) => `Falsch (${text})`,
        sayDetail: (text, translation) => (translation?.code === 'field.required' ? 'Das fehlt.' : text),
      })
      const error = new ApiError(400, answer)
      assert.strictEqual(error.message, 'Falsch (name: Das fehlt.)')
      assert.strictEqual(error.serverMessage, 'name: is required')
      assert.deepEqual(
        error.details.map(({ message }) => message),
        ['Das fehlt.', 'is odd'],
      )
    })

    it('say the code of the message', () => {
      setErrorLanguage({ ...english, sayError: (code, text, translation) => translation?.code ?? `${code} ${text}` })
      const lost = { error: 'NOT_FOUND', message: 'No such key.' } as const
      const translated = { ...lost, message_translation: { code: 'refusal.no_key', params: {} } }
      assert.strictEqual(new ApiError(404, lost).message, 'NOT_FOUND No such key.')
      assert.strictEqual(new ApiError(404, translated).message, 'refusal.no_key')
      assert.strictEqual(new ApiError(404, translated).serverMessage, 'No such key.')
    })
  })
})
