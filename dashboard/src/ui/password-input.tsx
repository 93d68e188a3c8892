import { Eye, EyeOff } from './icons.tsx'
import { useState } from 'react'
import { IconButton } from './icon-button.tsx'
import { TextInput, type TextInputProps } from './text-input.tsx'
import { useUiTexts } from './ui-texts.ts'

/** A secret that can be shown. Set `autoComplete` to current-password or new-password. */
export function PasswordInput({ className, ...rest }: Omit<TextInputProps, 'type' | 'prefix' | 'suffix'>) {
  const [isShown, setShown] = useState(false)
  const texts = useUiTexts()
  return (
    <div className="relative">
      <TextInput
        autoCapitalize="none"
        spellCheck={false}
        {...rest}
        type={isShown ? 'text' : 'password'}
        className={`pr-10 pointer-coarse:pr-12 ${className ?? ''}`}
      />
      <div className="absolute inset-y-0 right-0.5 flex items-center">
        <IconButton
          size="sm"
          hasTooltip={false}
          icon={isShown ? EyeOff : Eye}
          label={isShown ? texts.hidePassword : texts.showPassword}
          aria-pressed={isShown}
          onClick={() => setShown(!isShown)}
        />
      </div>
    </div>
  )
}
