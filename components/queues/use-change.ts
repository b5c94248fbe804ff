"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useToast } from "@/components/ui/toast";
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
