"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useToast } from "@/components/ui/toast";
import { useIntentKey } from "@/lib/client/forms/use-intent-key";
import { ApiError } from "@/lib/client/http";
import { queuesKey } from "@/lib/client/queues";

interface Change<T> {
  readonly send: (value: T) => Promise<unknown>;
  /** The notice after success. */
  readonly done: string;
  readonly onDone?: () => void;
  /** Handles refusals; by default they are shown in a notice. */
  readonly onRefused?: (error: ApiError) => void;
}

interface Creation<T> extends Omit<Change<undefined>, "send"> {
  readonly body: () => T;
  readonly post: (body: T, idempotencyKey: string) => Promise<unknown>;
}

/** Like `useChange`, for a new pause or limit. A request whose answer was lost is sent again under its key. */
export function useCreation<T>({ body, post, onRefused, ...change }: Creation<T>) {
  const { keyFor, forgetRefused } = useIntentKey();
  return useChange<undefined>({
    ...change,
    send: () => {
      const sent = body();
      return post(sent, keyFor(sent));
    },
    onRefused: (error) => {
      forgetRefused(error);
      onRefused?.(error);
    },
  });
}

/** Sends a change of pauses or limits, shows the result, and refetches the page's data. */
export function useChange<T>({ send, done, onDone, onRefused }: Change<T>) {
  const client = useQueryClient();
  const toast = useToast();
  return useMutation({
    mutationFn: send,
    onSuccess: () => {
      toast({ title: done });
      onDone?.();
    },
    onError: (error) => {
      if (onRefused && error instanceof ApiError) onRefused(error);
      else toast({ title: "The action failed", detail: error.message, tone: "bad" });
    },
    onSettled: () => client.invalidateQueries({ queryKey: queuesKey }),
  });
}
