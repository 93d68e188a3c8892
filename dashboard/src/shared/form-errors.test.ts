import { assert } from 'chai'
import { describeError, formErrors } from './form-errors.ts'

const REFUSED = {
  message: 'name: is required',
  details: [
    { path: 'name', message: 'is required' },
    { path: 'to.0.email', message: 'Das ist keine E-Mail-Adresse.' },
    { path: '', message: 'give an id, or all: true' },
  ],
}

describe('what is wrong with a request', () => {
  it('as one text names each field once', () => {
    assert.strictEqual(
      describeError(REFUSED),
      'Name is required. To.0.email: Das ist keine E-Mail-Adresse. Give an id, or all: true.',
    )
  })
  it('that names no field is its message', () => {
    assert.strictEqual(describeError({ message: 'Delete a draft.', details: [] }), 'Delete a draft.')
  })

  it('stands beside its field, the rest above the buttons', () => {
    const errors = formErrors(REFUSED, ['name', 'to'])
    assert.deepEqual(
      [errors.of('name'), errors.of('to'), errors.of('subject'), errors.rest],
      ['Is required.', 'Das ist keine E-Mail-Adresse.', undefined, 'Give an id, or all: true.'],
    )
  })
  it('is its message if it names no field', () => {
    assert.strictEqual(formErrors({ message: 'Delete a draft.', details: [] }, ['name']).rest, 'Delete a draft.')
  })
})
