/**
 * Gives the texts of components (ui-text-values.ts) to all of them. A catalogue provides another language:
 * `<UiTexts value={...}>` around the app.
 */
import { createContext, use } from 'react'
import { ENGLISH_UI_TEXTS, type UiTextValues } from './ui-text-values.ts'

export const UiTexts = createContext<UiTextValues>(ENGLISH_UI_TEXTS)

export function useUiTexts(): UiTextValues {
  return use(UiTexts)
}
