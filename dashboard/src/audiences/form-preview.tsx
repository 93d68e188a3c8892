/**
 * What people see on the public page, which no frame may show. It can be filled in to see the page that follows;
 * nothing is sent. The words are those of the page, which is in English.
 */
import { useState, type ReactNode } from 'react'
import { useTexts } from '#dashboard/src/texts/language.tsx'
import { Button } from '#dashboard/src/ui/button.tsx'
import { Card } from '#dashboard/src/ui/card.tsx'
import { Field } from '#dashboard/src/ui/field.tsx'
import { TextInput } from '#dashboard/src/ui/text-input.tsx'

interface FormPreviewProps {
  readonly name: string
  readonly isDoubleOptIn: boolean
}

const FIELDS = ['Email address', 'First name (optional)', 'Last name (optional)']

export function FormPreview({ name, isDoubleOptIn }: FormPreviewProps): ReactNode {
  const { audiences: texts } = useTexts()
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [isSent, setSent] = useState(false)
  return (
    <Card className="mx-auto w-full max-w-md" lang="en">
      {isSent ? (
        <div className="flex flex-col items-start gap-3" role="status">
          <p className="text-xl font-semibold">{isDoubleOptIn ? 'Check your mail' : 'Thank you'}</p>
          <p className="text-muted">
            {isDoubleOptIn
              ? `Open the link in the mail that was sent to you. Then you are subscribed to ${name}.`
              : `You are subscribed to ${name}.`}
          </p>
          <Button size="sm" variant="ghost" onClick={() => setSent(false)}>
            {texts.previewAgain}
          </Button>
        </div>
      ) : (
        <form
          className="flex flex-col gap-4"
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            setSent(true)
          }}
        >
          <p className="text-xl font-semibold">Subscribe to {name}</p>
          {FIELDS.map((label) => (
            <Field key={label} label={label}>
              <TextInput
                value={values[label] ?? ''}
                onChange={(text) => setValues({ ...values, [label]: text })}
                autoComplete="off"
              />
            </Field>
          ))}
          <Button type="submit" variant="primary" className="self-start">
            Subscribe
          </Button>
        </form>
      )}
    </Card>
  )
}
